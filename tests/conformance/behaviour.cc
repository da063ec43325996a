#include "tests/conformance/behaviour.h"

namespace atl::conformance {

std::vector<Group> all_groups() {
  return {
      {"lifecycle", lifecycle_behaviours()},
      {"recovery", recovery_behaviours()},
      {"pause, resize", optional_behaviours()},
      {"snapshots, forks, resets", snapshot_behaviours()},
      {"exec", exec_behaviours()},
      {"processes", process_behaviours()},
      {"output", output_behaviours()},
      {"stdin", stdin_behaviours()},
      {"terminals", terminal_behaviours()},
      {"signals and timeouts", signal_behaviours()},
      {"files", file_behaviours()},
      {"file tools", file_tool_behaviours()},
      {"paths", path_behaviours()},
      {"limits", limit_behaviours()},
      {"isolation", isolation_behaviours()},
      {"host directories", host_directory_behaviours()},
  };
}

}  // namespace atl::conformance
