// What may be done on the terminal that one of our streams leads to.
//
// Pipes and files get plain text: no colour, nothing drawn over, no line shortened. So does a
// terminal that can do no more (TERM is empty or "dumb"); NO_COLOR takes only the colours away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atl::cli {

// Whether a line there can be written over.
bool can_redraw(int fd);
bool takes_colour(int fd);
// How wide it is; none where lines may be as long as they like.
std::optional<size_t> columns_of(int fd);

enum class Ink : uint8_t { plain, strong, dim, good, warning, bad, accent };

enum class Paint : uint8_t { plain, coloured };
// What the stream takes.
Paint paint_for(int fd);

// The text in that ink, or as it is for Ink::plain.
std::string inked(std::string_view text, Ink ink);
// The same where the stream takes colour, and as it is elsewhere.
std::string inked_for(int fd, std::string_view text, Ink ink);

}  // namespace atl::cli
