// Where configuration comes from, strongest first.
//
//   --config FILE, ATOLL_CONFIG   a file that was named; `none` reads no file at all
//   the project's                 atoll.yaml, upward from the current directory to the root of the
//                                 git work tree or to the home directory; outside of both, only
//                                 there
//   the user's                    $XDG_CONFIG_HOME/atoll/atoll.yaml
//   the system's                  /etc/atoll/atoll.yaml, for the daemon alone
//
// A project file that was found came with whatever directory somebody has stepped into. It is read
// only if it is a plain file of the caller's own or of root's, and what it may say is bounded
// (project_rule.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace atl::config {

enum class From : uint8_t { flag, variable, named, project, user, system, usual };
std::string_view to_string(From from);

struct Found {
  From from = From::project;
  std::string path;
};

struct Places {
  std::string named;              // "" = look for files
  std::string current_directory;  // "" = no project file is looked for
  std::string home;               // "" = there is none
  std::string user_directory;     // that holds atoll/atoll.yaml; "" = there is none
  std::string system_directory;   // that holds atoll.yaml; "" = it is not looked at
};

std::vector<Found> find_files(const Places& places);

// One file with what it says.
struct Layer {
  From from = From::project;
  std::string path;
  std::string directory;  // relative paths begin here
  Settings settings;
};

// Opens and reads; what is wrong inside is in the settings' findings. Code::permission_denied for a
// project file of somebody else's.
Result<Layer> read_layer(const Found& found, const Environment& environment);

// cognition.yaml: another name that is taken for the same file.
bool has_other_name(std::string_view path);

}  // namespace atl::config
