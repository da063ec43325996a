#include "drivers/registry.h"

#include "drivers/local/local_driver.h"
#include "drivers/subprocess/subprocess_driver.h"

namespace atl::drivers {

std::span<const Entry> all() {
  static constexpr Entry kEntries[] = {
      {"subprocess", "a process confined by Landlock, seccomp and rlimits; no root, no image",
       make_subprocess_driver},
      {"local", "the host itself, unprotected, at full speed", make_local_driver},
  };
  return kEntries;
}

}  // namespace atl::drivers
