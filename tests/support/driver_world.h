// One driver with everything that it needs, on a loop of its own: what a test starts from.
//
//   TRY(auto world, DriverWorld::open("subprocess"));
//   auto box = world->run(world->driver().create(std::move(spec)));
//
// Sandboxes live under a kept launcher in a temporary run directory. When the world ends it ends
// them, waits until the launcher has left and says what would not go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_task.h"
#include "driver/driver.h"
#include "native/launcher_client.h"
#include "tests/support/temp_directory.h"

namespace atl::test {

// The example of examples/extension, which tests/support/extension.py starts and adds in the state
// directory that kTestExtension names.
constexpr const char* kExtension = "extension";
constexpr const char* kTestExtension = "ATOLL_TEST_EXTENSION";

class DriverWorld final : public DriverListener {
 public:
  // `name` as in drivers::all(), or kExtension. Code::unavailable when this host lacks what the
  // driver needs.
  static Result<std::unique_ptr<DriverWorld>> open(std::string_view name);
  ~DriverWorld() override;

  const std::string& name() const { return name_; }
  Driver& driver() { return *driver_; }
  // A driver that needs a root file system gets one unless the spec has its own.
  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec);
  native::LauncherClient& launcher() { return *launcher_; }
  asio::io_context& loop() { return loop_; }
  // As probed when the world was opened.
  const Capabilities& can() const { return can_; }
  const std::string& root() const { return root_.path(); }
  std::string run_directory() const { return root_ / "run"; }
  std::string root_tree() const { return root_ / "tree"; }

  // Runs a task to its end. A task that takes longer than `most` is given up with
  // Code::deadline_exceeded.
  template <typename T>
  Result<T> run(Task<T> task, Millis most = std::chrono::seconds(60)) {
    const auto kept = std::make_shared<detail::Kept<T>>();
    spawn(loop_.get_executor(), detail::keep_result(std::move(task), kept), [kept](Result<> done) {
      if (!done) kept->result.emplace(std::move(done).error());
      kept->ended = true;
    });
    run_until([kept] { return kept->ended; }, most);
    if (kept->result) return *std::move(kept->result);
    return Error(Code::deadline_exceeded, "the task did not end in time");
  }

  // Looks again and again, with the loop running in between; false if it did not come true in time.
  bool eventually(const std::function<bool()>& holds, Millis most = std::chrono::seconds(20));

  // What happens to a daemon that is killed and comes back: every connection ends, a new client and
  // a new driver find what is there. Handles to sandboxes must be gone before.
  Result<> restart();
  // The client goes and does not come back; sandboxes stay.
  void leave() { disconnect(); }

  struct Ended {
    std::string id;
    EndedBy why;
  };
  // What the driver told without being asked, oldest first.
  const std::vector<Ended>& ended() const { return ended_; }
  std::optional<EndedBy> how_ended(std::string_view id) const;

  // The launcher and its keeper, if the driver has them.
  std::optional<pid_t> launcher_pid() const;
  bool is_under_launcher() const { return launcher_pid().has_value(); }

 private:
  explicit DriverWorld(std::string name) : name_(std::move(name)) {}

  Result<> connect();
  Result<std::unique_ptr<Driver>> make_driver();
  void disconnect();
  void empty_engine();
  void run_until(const std::function<bool()>& ended, Millis most);
  void on_ended(const Driver&, std::string id, EndedBy why) override {
    ended_.push_back({std::move(id), why});
  }

  const std::string name_;
  TempDirectory root_;
  asio::io_context loop_;
  std::unique_ptr<native::LauncherClient> launcher_;
  std::unique_ptr<Driver> driver_;
  Capabilities can_;
  std::vector<Ended> ended_;
};

}  // namespace atl::test
