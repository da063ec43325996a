// How much room text takes on a terminal.
//
// Letters of East Asia and most pictures take two columns, marks that combine with the letter
// before them none. Terminals differ about the rarest; being one off there only shifts a row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atl::cli {

// Of one line of well-formed UTF-8 without control characters.
size_t width_of(std::string_view text);

// The text if it has room, otherwise its beginning and "…".
std::string shortened(std::string_view text, size_t columns);

// Broken at blanks into lines of so many columns, all but the first behind so many blanks. A word
// that is wider than that stays whole.
std::string wrapped(std::string_view text, size_t columns, size_t indent);

}  // namespace atl::cli
