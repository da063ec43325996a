#include "drivers/registry.h"

#include "config/kinds.h"
#include "drivers/chroot/chroot_driver.h"
#include "drivers/docker/docker_driver.h"
#include "drivers/gvisor/gvisor_driver.h"
#include "drivers/local/local_driver.h"
#include "drivers/native/native_driver.h"
#include "drivers/podman/podman_driver.h"
#include "drivers/rootless/rootless_driver.h"
#include "drivers/subprocess/subprocess_driver.h"

namespace atl::drivers {

std::span<const Entry> all() {
  static constexpr Entry kEntries[] = {
      {"native", "namespaces, cgroups, seccomp and Landlock of this kernel; no image, no daemon",
       make_native_driver},
      {"rootless", "the same without root, as far as an ordinary user can have it",
       make_rootless_driver},
      {"docker", "containers of a Docker engine on this host", make_docker_driver},
      {"podman", "containers of a Podman service on this host", make_podman_driver},
      {"gvisor", "as native, with gVisor's kernel between the commands and the host's",
       make_gvisor_driver},
      {"subprocess", "a process confined by Landlock, seccomp and rlimits; no root, no image",
       make_subprocess_driver},
      {"chroot", "as subprocess, in a copy of a root file system that you give",
       make_chroot_driver},
      {"local", "the host itself, unprotected, at full speed", make_local_driver},
  };
  return kEntries;
}

std::vector<std::string> reserved_names() {
  std::vector<std::string> names = config::kind_names();
  for (const Entry& entry : all()) names.emplace_back(entry.name);
  return names;
}

}  // namespace atl::drivers
