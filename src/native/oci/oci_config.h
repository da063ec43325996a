// The config.json of an OCI bundle: what a runtime such as runsc is told about one sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atl::native {

// A directory that is seen at its own path; what happens to it outside is noticed.
struct OciBind {
  std::string path;
};

struct OciConfig {
  std::vector<std::string> arguments;
  std::string hostname;
  uint64_t capabilities = 0;  // of the first process; bits
  uint64_t open_files = 0;    // of the first process
  std::vector<OciBind> binds;
};

// The root is the runtime's own, writable as far as that is. Nothing of the environment is handed
// on. Text that is not UTF-8 has no form in JSON and must not come here.
std::string to_json(const OciConfig& config);

}  // namespace atl::native
