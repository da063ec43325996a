// A driver that runs nothing: an interface-complete backend in memory, for tests.
//
//   auto host = FakeHost::make("microvm", Isolation::vm);
//   host->down();
//   auto driver = make_fake_driver(host);
//
// The host is the backend: it outlives drivers and engines, so a second driver over the same host
// finds what the first one made, as after a restart. Faults are set on the host; every call that
// reaches it is in `calls`.
//
// Commands: true, false, exit N, echo WORDS…, cat (its stdin, or the files named), env, whoami (and
// where), sleep (until it is killed; with a timeout its time is up at once), hang (no timeout ends
// it), sh -c WORDS… (one of these). What else is among `programs` ends with 0, and the rest with
// 127.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/event.h"
#include "driver/driver.h"

namespace atl {

class FakeDriver;
struct FakeProcess;

struct FakeFile {
  FileKind kind = FileKind::file;
  std::string bytes;
  uint32_t mode = 0644;
};

// One sandbox of the host.
struct FakeBox {
  std::string id;
  std::string parent;  // of which it is a fork; "" = of none
  bool exists = true;
  bool running = true;
  bool paused = false;
  bool silent = false;          // it runs, and stat() is never answered
  bool lets_nobody_in = false;  // nobody can attach to it, though its driver answers
  int asked_in_vain = 0;
  SandboxSpec spec;
  std::map<std::string, FakeFile>
      files;  // by absolute path; "/workspace" is there from the beginning
  std::map<ProcessId, std::shared_ptr<FakeProcess>> processes;
  ProcessId last_process = 0;
  std::vector<FileChange> changes;  // what Guest::changes tells, when there is something
  std::map<std::string, std::string> programs;  // as those of its host when it was made

  // Whoever waits for one of its processes is told that the sandbox went away.
  void end_processes();
  void forget_waiters();
};

class FakeHost final {
 public:
  static std::shared_ptr<FakeHost> make(std::string name = "fake",
                                        Isolation isolation = Isolation::container);

  const std::string& name() const { return name_; }

  // What probe() reports; set it before the engine probes.
  Capabilities capabilities;
  std::optional<int64_t> user;                             // as Driver::only_user()
  std::function<void(const SandboxSpec& spec)> on_create;  // before it is made
  bool is_somebody_elses = false;
  bool tries_runtimes = false;  // probe() leaves them out
  bool fetches = false;         // a creation begins with "fetch", which ends when it is given up

  // Every call answers Code::unavailable until up().
  void down() { down_ = true; }
  void up() { down_ = false; }
  bool is_down() const { return down_; }
  // The next `count` calls of `call` ("create", "destroy", "stop", …) fail with `error`.
  void fail(std::string call, Error error, int count = 1);
  // Calls of `call` wait, before they do anything, until release(call).
  void hold(const std::string& call);
  void release(const std::string& call);

  // The sandbox ends by itself, and whoever listens is told. An expired one keeps its workspace
  // until it is destroyed.
  void end(const std::string& id, EndedBy why);
  // The same while nobody listens, as when the daemon is away.
  void end_unheard(const std::string& id);
  // Something of ours that no store knows.
  void add_orphan(const std::string& id);
  // Nothing of the sandbox is left, and nobody was told.
  void lose(const std::string& id) { boxes.erase(id); }

  bool has(const std::string& id) const { return boxes.contains(id); }
  bool is_running(const std::string& id) const { return has(id) && boxes.at(id)->running; }
  std::vector<std::string> ids() const;

  // "create sbx1", in the order of calling.
  std::vector<std::string> calls;
  size_t count(std::string_view call) const;

  // What `command -v` finds in its sandboxes, and what each says of its version.
  std::map<std::string, std::string> programs = {{"git", "git version 2.39.5\n"},
                                                 {"python3", "Python 3.11.2\n"}};
  std::map<std::string, std::shared_ptr<FakeBox>> boxes;
  std::set<std::string> forked;  // ids that were ever made by a fork
  // The ids of those that were half made or half destroyed: nobody can attach to them, list() shows
  // them, and none of that id can be made.
  std::set<std::string> remains;
  // By id: the files that each snapshot holds.
  std::map<std::string, std::map<std::string, FakeFile>> snapshots;
  std::set<std::string> broken_snapshots;    // no sandbox can be made from these
  std::set<std::string> doubtful_snapshots;  // these may be another's

  // Awaited before and after each call takes effect ("create before", "create half after" of what
  // is made in two steps, "create after"); what it
  // returns as an error the call returns. A hook that never returns stands for the daemon's death
  // at that point.
  std::function<Task<>(std::string)> on_step;

 private:
  friend class FakeDriver;
  friend class FakeSandbox;
  struct Fault {
    Error error;
    int count = 0;
  };

  FakeHost(std::string name, Isolation isolation);
  // What every call goes through first: journal, faults, holds.
  Task<> enter(std::string call, std::string id);
  Task<> leave(std::string call);
  // Those who wait die with their loop, and the host outlives it.
  void forget_waiters();

  std::string name_;
  bool down_ = false;
  std::map<std::string, Fault> faults_;
  std::map<std::string, std::shared_ptr<Event>> holds_;
  std::vector<std::string> to_hold_;
  FakeDriver* driver_ = nullptr;  // the one that was made last
};

std::unique_ptr<Driver> make_fake_driver(std::shared_ptr<FakeHost> host);

}  // namespace atl
