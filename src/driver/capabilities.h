// What a driver can do on this host, as probed: the router decides on these values alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

namespace atl {

// Ordered, weakest first. The level belongs to driver and runtime, and is what was probed, not what
// was hoped.
enum class Isolation : uint8_t { none, process, container, sentry, vm };
BOOST_DESCRIBE_ENUM(Isolation, none, process, container, sentry, vm)

// Where the code runs: on this host, on machines of ours, or at somebody else's.
enum class Placement : uint8_t { host, own, third_party };
BOOST_DESCRIBE_ENUM(Placement, host, own, third_party)

// Whether a limit holds for the whole sandbox, only for each process in it, or not at all.
enum class Limit : uint8_t { none, per_process, enforced };
BOOST_DESCRIBE_ENUM(Limit, none, per_process, enforced)

// Whether killing a tree reaches a process that tries to get away.
enum class KillTree : uint8_t { best_effort, sure };
BOOST_DESCRIBE_ENUM(KillTree, best_effort, sure)

// What a pause keeps.
enum class Pause : uint8_t { none, processes, memory };
BOOST_DESCRIBE_ENUM(Pause, none, processes, memory)

// What the driver can do about the guest's network: nothing, cut it off, or rules per sandbox.
enum class NetworkControl : uint8_t { none, deny, rules };
BOOST_DESCRIBE_ENUM(NetworkControl, none, deny, rules)

struct LimitSupport {
  Limit cpu = Limit::none;
  Limit memory = Limit::none;
  Limit pids = Limit::none;
  Limit disk = Limit::none;
  Limit root_disk = Limit::none;  // what a persistent sandbox changes in its root
  Limit open_files = Limit::none;
  Limit output = Limit::none;
  Limit wall_time = Limit::none;
  Limit cpu_time = Limit::none;
};
BOOST_DESCRIBE_STRUCT(LimitSupport, (),
                      (cpu, memory, pids, disk, root_disk, open_files, output, wall_time, cpu_time))

// A runtime that a container engine has besides its own, and what it was seen to isolate.
struct RuntimeLevel {
  std::string name;
  Isolation isolation = Isolation::none;

  bool operator==(const RuntimeLevel&) const = default;
};
BOOST_DESCRIBE_STRUCT(RuntimeLevel, (), (name, isolation))

struct Capabilities {
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  LimitSupport limits;
  KillTree kill_tree = KillTree::best_effort;
  NetworkControl network = NetworkControl::none;
  Pause pause = Pause::none;
  bool snapshot = false;
  bool checkpoint = false;  // a snapshot holds the memory of its processes, too
  bool fork = false;
  bool reset = false;  // made anew under its id, a sandbox has nothing of who used it before
  bool resize = false;
  bool dedicated = false;  // whole processors and reserved memory for one sandbox
  bool pty = false;
  bool watch = false;
  bool ports = false;
  bool gpu = false;
  bool direct_stdio = false;  // the caller's own descriptors become the process's stdio
  bool own_root = false;  // the sandbox has its own file system root, in which /workspace is real
  bool homes = false;     // and in it the home of its user can be elsewhere than usual
  bool root_dir = false;  // a directory of the host can be that root
  bool needs_root_dir = false;  // and there is no other
  bool templates = false;       // a template can be that root
  bool images = false;          // an image can be that root, by its name
  bool writable_root = false;   // what is changed in that root can be kept
  std::vector<RuntimeLevel> runtimes;
  bool users = false;  // commands can run as any user of the sandbox, root among them
  // How a directory of the host can appear in the sandbox.
  bool host_dir_ro = false;
  bool host_dir_rw = false;
  bool host_dir_cow = false;
  bool host_dir_roots = false;  // … also below roots that a profile names, if not otherwise
  bool bridge = false;          // a sandbox can be in the engine's own network
  bool engine_socket = false;   // and can be shown the engine's socket
  std::optional<int64_t> max_lifetime_s;
  std::optional<double> price_per_hour;  // in US dollars, for the default size
  double typical_start_ms = 0;
  std::vector<std::string> not_protected;  // plain sentences: what this driver does not protect
};
BOOST_DESCRIBE_STRUCT(Capabilities, (),
                      (isolation, placement, limits, kill_tree, network, pause, snapshot,
                       checkpoint, fork, reset, resize, dedicated, pty, watch, ports, gpu,
                       direct_stdio, own_root, homes, root_dir, needs_root_dir, templates, images,
                       writable_root, runtimes, users, host_dir_ro, host_dir_rw, host_dir_cow,
                       host_dir_roots, bridge, engine_socket, max_lifetime_s, price_per_hour,
                       typical_start_ms, not_protected))

}  // namespace atl
