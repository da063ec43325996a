// TemplateReference: how a template is called, "NAME[:TAG]".
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl {

inline constexpr std::string_view kLatestTag = "latest";

struct TemplateReference {
  std::string name;             // 1 to 63 of [a-z0-9._-], beginning with a letter or digit
  std::string tag{kLatestTag};  // 1 to 63 of [A-Za-z0-9._-], beginning with none of . and -

  std::string text() const { return name + ":" + tag; }
  auto operator<=>(const TemplateReference&) const = default;
};

// Code::invalid_argument for what is none.
Result<TemplateReference> parse_template_reference(std::string_view text);

}  // namespace atl
