// What a sandbox should be like: everything a driver needs to make one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "driver/give_up.h"
#include "driver/progress.h"

namespace atl {

// Whose the processors are that a sandbox runs on.
enum class Sharing : uint8_t {
  shared,     // everybody's, in equal parts under load
  limited,    // the same, up to a ceiling that is there: `cpu`, `memory_mb` or both
  burstable,  // everybody's, by weight under load; `cpu` is the ceiling, if there is one
  dedicated,  // `cpu` whole processors that nobody else of ours uses; `memory_mb` is reserved
};
BOOST_DESCRIBE_ENUM(Sharing, shared, limited, burstable, dedicated)

struct Resources {
  std::optional<double> cpu;         // cores
  std::optional<int64_t> memory_mb;  // MiB
  std::optional<int64_t> pids;
  std::optional<int64_t> disk_mb;     // MiB
  std::optional<int64_t> cpu_weight;  // 1 to 10,000, 100 is usual; makes a sandbox burstable
  std::optional<Sharing> sharing;     // absent: shared, or burstable with a weight

  bool operator==(const Resources&) const = default;
};
BOOST_DESCRIBE_STRUCT(Resources, (), (cpu, memory_mb, pids, disk_mb, cpu_weight, sharing))

// How a directory of the host appears in the sandbox.
enum class HostAccess : uint8_t { ro, rw, cow };
BOOST_DESCRIBE_ENUM(HostAccess, ro, rw, cow)

// A directory that whoever asks has opened with their own rights: the descriptor is the permission,
// the path is only how it is called.
struct HostDirectory {
  Fd directory;
  std::string host_path;
  std::string guest_path;
  HostAccess access = HostAccess::ro;
};

// When an engine fetches an image.
enum class Pull : uint8_t { missing, never, always };
BOOST_DESCRIBE_ENUM(Pull, missing, never, always)

// What becomes of what a sandbox changes in its root file system, and of its files when it ends.
enum class Persistence : uint8_t {
  ephemeral,   // nothing of it is kept; the root may be read-only
  persistent,  // it is the sandbox's own, and in its snapshots
  checkpoint,  // the same where the driver can, and what ends is kept for the next of its name
};
BOOST_DESCRIBE_ENUM(Persistence, ephemeral, persistent, checkpoint)

// What a sandbox reaches beyond its own loopback.
enum class Network : uint8_t {
  none,
  bridge,  // whatever its engine's own network reaches, the host and its neighbours included
};
BOOST_DESCRIBE_ENUM(Network, none, bridge)

struct SandboxSpec {
  std::string id;
  // Whose it is, for those who make one after the other: tenants take turns. "" = nobody's yet.
  std::string tenant;
  Resources resources;
  // Given to every process. Values may be secrets: they reach the sandbox and nothing else.
  std::map<std::string, std::string> env;
  // The workspace itself, when it is a directory of the host (`--here`); otherwise the driver makes
  // an empty one.
  std::optional<HostDirectory> workspace;
  std::vector<HostDirectory> mounts;
  // The root file system itself; otherwise the driver's own.
  std::optional<HostDirectory> root;
  // Names the content of `root` when that is a template's tree, and the same content always by the
  // same name; "" = it is somebody's directory.
  std::string template_id;
  // An image in its engine's words, "name:tag" or "name@sha256:…"; "" = the driver's own.
  std::string image;
  Pull pull = Pull::missing;
  // Told of the stages of its making, and while an image is fetched.
  ProgressListener on_progress = {};
  // Null when whoever asked waits to the end.
  std::shared_ptr<GiveUp> give_up = nullptr;
  // One of Capabilities::runtimes; "" = the engine's own.
  std::string runtime;
  Persistence persistence = Persistence::ephemeral;
  Network network = Network::none;
  // The engine's own socket is shown to it, by which it rules the engine's host.
  bool engine_socket = false;
  // Where directories of the host may lie that a container engine shows; nullopt = as the driver is
  // configured.
  std::optional<std::vector<std::string>> mount_roots;
  // Where its user lives, instead of /home/user: base/own_home.h says what may be here. "" = there.
  std::string home;
  // The id of a snapshot of this driver that it starts from; "" = from the beginning.
  std::string snapshot;
  // When the sandbox ends even if nobody is there to end it, on Clock::boot(); zero = never.
  Micros expires_at{0};
  // For one command, whose answer nobody else can take: it may end with whoever has made it.
  bool is_run = false;
  // An interpreter that it would be good to find running already; "" = none.
  std::string warm;
};

}  // namespace atl
