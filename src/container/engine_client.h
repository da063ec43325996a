// EngineClient: the calls of the Docker Engine API that containers need. What goes wrong on the way
// is told by EngineLine. Lives on the core loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "container/engine_line.h"
#include "container/frame_stream.h"

namespace atl::container {

struct ContainerState {
  bool is_running = false;
  bool is_paused = false;
  int32_t pid = 0;  // of its first process, in the engine's pid namespace
  int64_t exit_code = 0;
  bool lacked_memory = false;  // it was killed for that
  // The limits that hold, which are not always those that were asked for.
  int64_t memory_bytes = 0;
  int64_t pids = 0;
  std::string runtime;
  std::vector<std::string> tmpfs;  // where it keeps files in memory
  std::vector<std::string> shown;  // what of the host it is shown, inside
  std::string network;             // "none"
  bool has_read_only_root = false;
  bool has_own_clock = false;                            // label
  std::string transport, kernel;                         // labels, as below
  std::string instance, driver, sandbox_id, generation;  // labels; "" = none
};

struct LabelledContainer {
  std::string id;  // the engine's
  std::string instance;
};

// What an engine tells of itself.
struct EngineFacts {
  struct Runtime {
    std::string name;
    std::string definition;  // another one under the same name has another
  };
  std::vector<Runtime> runtimes;  // those that containers can have
  std::string default_runtime;    // among them
  std::string kernel;             // the release of its host's
  std::string architecture;       // as its kernel calls it: "x86_64"
  std::string storage;            // "overlay2", "btrfs"
  bool filters_calls = false;     // containers have a seccomp filter of its own
};

class EngineClient final {
 public:
  EngineClient(asio::any_io_executor executor, const Dialect& dialect, EngineAddress address,
               Paces paces = {});

  EngineLine& line() { return line_; }
  const EngineLine& line() const { return line_; }

  // Code::already_exists when the name is taken.
  Task<> create(std::string name, std::string body);
  // Unpacks a tar archive in a directory of a container that has not been started, and that can be
  // written to.
  Task<> put_archive(std::string name, std::string directory, std::string archive);
  Task<> start(std::string name);
  // Code::not_found when there is none.
  Task<ContainerState> inspect(std::string name);
  // As libpod calls it, which podman alone speaks.
  Task<std::string> runtime_of(std::string name);
  Task<EngineFacts> facts();
  // Starts a program in a running container: its stdin and stdout.
  Task<std::unique_ptr<FrameStream>> start_inside(std::string name, std::vector<std::string> argv);
  // What a container's first process says; asked for before it is started, nothing is lost.
  Task<std::unique_ptr<FrameStream>> listen_to(std::string name);
  Task<> pause(std::string name);
  Task<> resume(std::string name);
  Task<> update(std::string name, std::string body);
  // Ends it if need be, and returns once it is gone; one that is not there is.
  Task<> remove(std::string name);
  // The same for all that bear these labels: an engine that died while it removed one may have
  // taken its name away already.
  Task<> remove_labelled(std::vector<std::string> labels);
  // The sandbox ids of all containers that bear these labels ("name=value").
  Task<std::vector<std::string>> list(std::vector<std::string> labels);
  // The same of volumes, which are where the agent is copied.
  Task<std::vector<std::string>> list_volumes(std::vector<std::string> labels);
  // Returns once they are gone: an engine forgets a container first, and its volumes a moment
  // later.
  Task<> remove_volumes(std::vector<std::string> labels);
  // Whose each is that bears these labels.
  Task<std::vector<LabelledContainer>> list_owners(std::vector<std::string> labels);
  // Whether the engine has told that one, which may be gone by now, was killed for want of memory.
  // Podman tells of none.
  Task<bool> lacked_memory(std::string name);
  // Until it has ended: its exit code. Has no deadline but close().
  Task<int64_t> wait(std::string name);

  // Ends every wait with Code::cancelled, now and later.
  void close();

 private:
  Task<json::Array> find_labelled(std::vector<std::string> labels);
  Task<json::Array> find_volumes(std::vector<std::string> labels);
  Task<std::unique_ptr<FrameStream>> leave_http(std::string path, std::string body);

  asio::any_io_executor executor_;
  EngineLine line_;
  // Those under way, to be ended by close(); shared with them.
  struct Waits;
  std::shared_ptr<Waits> waits_;
};

}  // namespace atl::container
