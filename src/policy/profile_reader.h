// Profiles from YAML: a file with one, or with a map `profiles:` of many.
//
//   name: python            profiles:
//   version: 2                python@2:
//   inherits: default           inherits: default
//   ttl: 30m                    ttl: 30m
//
// What this version cannot do is refused in words and never passed over: a sandbox would be weaker
// than its profile says. Errors are Code::invalid_argument or Code::unsupported and begin with file
// and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/profile.h"

namespace atl::policy {

inline constexpr size_t kLargestProfileFile = 256 * 1024;
inline constexpr size_t kMostProfiles = 500;

// Who vouches for a text.
enum class Origin : uint8_t {
  built_in,
  operators,  // the operator's own, or the user's
  project,    // a file that was only found: it adds, and takes nothing over
};

enum class Form : uint8_t {
  profile_file,
  configuration,  // atoll.yaml, of which only `profiles:` is looked at
};

struct ProfileText {
  std::string file;  // for messages
  std::string text;
  Origin origin = Origin::operators;
  Form form = Form::profile_file;
};

struct ReadProfile {
  Profile profile;
  Origin origin = Origin::operators;
  std::string file;
  int line = 0;
};

struct ReadProfiles {
  std::vector<ReadProfile> profiles;
  std::vector<Error> problems;  // of the others
};

ReadProfiles read_profiles(const ProfileText& text);

}  // namespace atl::policy
