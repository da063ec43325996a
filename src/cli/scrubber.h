// Scrubber: takes secrets out of text before it leaves the host.
//
// It knows values that are secret here (keys, variables whose names say so) and shapes that are
// secret everywhere: API keys of ours, bearer tokens, NAME=value where the name says so, passwords
// in URLs. It is the second line of defence: what is known to hold secrets is not collected at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::cli {

class Scrubber final {
 public:
  // Values shorter than six bytes are no secrets, and taking them out would ruin the text.
  void add_secret(std::string value);
  // The values of variables whose names say that they are secret.
  void add_environment(const char* const* environment);

  std::string scrub(std::string_view text) const;

 private:
  std::vector<std::string> secrets_;
};

}  // namespace atl::cli
