// The tables of docs/configuration.md, written from the table of settings.
#pragma once

#include <string>
#include <string_view>

namespace atl::config {

// The part of the document between the two marks.
std::string guide_tables();

inline constexpr std::string_view kGuideBegin = "<!-- settings:begin -->";
inline constexpr std::string_view kGuideEnd = "<!-- settings:end -->";

// `document` with the part between the marks replaced; unchanged if it has no marks.
std::string with_tables(std::string_view document);

}  // namespace atl::config
