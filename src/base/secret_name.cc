#include "base/secret_name.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace atl {

bool names_a_secret(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"secret", "token", "passw", "credential", "apikey", "api_key",
                                      "api-key", "private_key", "access_key", "authorization"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return lower == "pass" || lower == "pwd" || lower.ends_with("_key") || lower.ends_with("_pass");
}

}  // namespace atl
