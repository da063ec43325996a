// What the daemon and the launcher say to each other: one packet per message on a SOCK_SEQPACKET
// socket.
//
//   u32 request | u8 operation | body
//
// An answer carries the request's number and Operation::ok or Operation::error; request 0 is an
// event. The launcher takes descriptors, never paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "native/plan.h"

namespace atl::native {

constexpr uint32_t kLauncherVersion = 7;
constexpr size_t kLargestPacket = 128 * 1024;
constexpr size_t kListPage = 500;

// In the run directory.
constexpr const char* kLauncherSocket = "launcher.sock";
constexpr const char* kKeeperLock = "keeper.lock";
constexpr const char* kLauncherLog = "launcher.log";
constexpr const char* kSandboxesDirectory = "box";

enum class Operation : uint8_t {
  hello = 1,
  create,   // descriptors: config memory file, [workspace], mounts… → one: the connection to the
            // agent
  connect,  // → one descriptor: a connection to the agent, its token already sent
  renew,
  destroy,
  list,
  end_all,  // destroys every sandbox
  pause,    // every process stands still
  resume,
  resize,
  ok = 64,
  error,
  ended = 128,  // event: a sandbox has ended by itself
};

struct Packet {
  uint32_t request = 0;
  Operation operation{};
  std::string_view body;
};
std::string encode_packet(uint32_t request, Operation operation, std::string_view body);
Result<Packet> decode_packet(std::string_view bytes);

// Whether this launcher can make sandboxes with namespaces of their own, and what holds in them.
struct BoxSupport {
  bool available = false;
  bool rootless = false;
  std::string reason;  // why not
  std::string hint;
  CgroupVersion cgroup_version = CgroupVersion::none;
  uint8_t cgroup_roles = 0;
  std::string cgroup_reason;
  bool dedicated = false;  // whole processors can be kept for one sandbox
};

struct LauncherHello {
  uint32_t version = 0;
  std::string program_version;
  BoxSupport boxes;
};
std::string encode(const LauncherHello& message);
Result<LauncherHello> decode_launcher_hello(std::string_view body);
// All that the launcher wants to know of a client's hello; 0 = it has none.
uint32_t decode_client_version(std::string_view body);

struct LaunchRequest {
  std::string id;
  std::string driver;          // whose sandbox it is, for list()
  uint64_t expires_at_us = 0;  // boot clock; 0 = never
  bool has_workspace = false;  // a descriptor for it follows the configuration's
  uint32_t mounts = 0;
  // A sandbox with namespaces of its own; descriptors: configuration, [root], its directories.
  std::optional<BoxRequest> box;
};
std::string encode(const LaunchRequest& message);
Result<LaunchRequest> decode_launch(std::string_view body);

struct RenewRequest {
  std::string id;
  uint64_t expires_at_us = 0;
};
std::string encode(const RenewRequest& message);
Result<RenewRequest> decode_renew(std::string_view body);

struct ResizeRequest {
  std::string id;
  CgroupLimits limits;  // zero = stays as it is
};
std::string encode(const ResizeRequest& message);
Result<ResizeRequest> decode_resize(std::string_view body);

// For connect, destroy, pause and resume; for list it is the id after which to go on.
std::string encode_id(std::string_view id);
Result<std::string> decode_id(std::string_view body);

struct LaunchedRow {
  std::string id;
  std::string driver;
  bool running = false;
};
std::string encode(const std::vector<LaunchedRow>& rows);
Result<std::vector<LaunchedRow>> decode_rows(std::string_view body);

enum class EndCause : uint8_t { expiry, death, memory };

struct EndedEvent {
  std::string id;
  EndCause cause = EndCause::death;
};
std::string encode(const EndedEvent& message);
Result<EndedEvent> decode_ended(std::string_view body);

std::string encode_launcher_error(const Error& error);
Result<Error> decode_launcher_error(std::string_view body);

}  // namespace atl::native
