// What docker and podman do differently, though both speak the Engine API.
#pragma once

#include <string_view>

namespace atl::container {

struct Dialect {
  std::string_view name;
  std::string_view socket;    // where it listens by default, for root
  std::string_view own_part;  // the same below $XDG_RUNTIME_DIR, for an ordinary user
  std::string_view variable;  // names another one
  std::string_view image_variable;
  std::string_view local_prefix;  // before names of images that no registry has
  std::string_view start;         // what starts it
  std::string_view own_unit;      // starts one of an ordinary user's own
  bool owns_tmpfs = false;        // a tmpfs takes the kernel's own options
  bool can_update = false;        // limits of a running container can be changed
  bool picks_runtime = false;     // a container can have another runtime than the service's own
  bool hides_groups = false;      // gives a cgroup namespace on version 1, too
  bool can_be_elsewhere = false;  // its containers can be given our agent, and reached, over TCP
  double typical_start_ms = 0;    // of an engine on this host, with the image there
  bool shows_socket = false;      // its socket has a group that may use it
  bool takes_masks = false;       // by the API's own field; otherwise as an option of security
  bool keeps_memory = false;      // can write the memory of a container, and let it go on elsewhere
};

constexpr Dialect kDocker{.name = "docker",
                          .socket = "/var/run/docker.sock",
                          .own_part = "docker.sock",
                          .variable = "DOCKER_HOST",
                          .image_variable = "ATOLL_DOCKER_IMAGE",
                          .start = "systemctl start docker",
                          .own_unit = "docker",
                          .owns_tmpfs = true,
                          .can_update = true,
                          .picks_runtime = true,
                          .hides_groups = true,
                          .can_be_elsewhere = true,
                          .typical_start_ms = 200,
                          .shows_socket = true,
                          .takes_masks = true};

constexpr Dialect kPodman{.name = "podman",
                          .socket = "/run/podman/podman.sock",
                          .own_part = "podman/podman.sock",
                          .variable = "CONTAINER_HOST",
                          .image_variable = "ATOLL_PODMAN_IMAGE",
                          .local_prefix = "localhost/",
                          .start = "systemctl start podman.socket",
                          .own_unit = "podman.socket",
                          .typical_start_ms = 100,
                          .keeps_memory = true};

}  // namespace atl::container
