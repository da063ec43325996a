// The launcher: makes sandboxes, watches over them, and takes them down.
//
// Everything else of Atoll can be wrong without giving the host away; this cannot. It is the only
// part that may be root, so it is small enough to be read in an afternoon (the count of its lines
// is a test), static, and does as little as a launcher can. One loop decides everything; a thread
// beside it waits in clone() while a sandbox is made (box_starter.h).
//
//   **It is no deputy.** A client names sandboxes by id and sends numbers and descriptors, never a
//   path: whoever can open a directory himself sends it open, and nobody can make the launcher open
//   one for him. The kernel says who a client is. What that client may do in a directory, the
//   sandbox's user may, and no more (box_maker.h translates the ids).
//
//   **It decides before it acts.** What a sandbox will be is a value (native/plan.h), made without
//   any rights and printed by `atoll run --explain`. From clone to exec (native/child/) the plan is
//   only carried out, by code that does not allocate, lock or throw. A step that fails ends the
//   child; there is no sandbox with a part of its policy.
//
//   **It believes nobody inside.** It reads no byte that a guest wrote. Of the agent it wants to
//   know one thing, whether it lives, and that it asks the kernel, by pidfd.
//
//   **It can die at any moment.** It keeps no state that is not also in its run directory:
//
//     launcher.sock   where the daemon connects (SOCK_SEQPACKET, 0600), unless systemd listens
//     keeper.lock     held by the keeper, which starts this program again when it dies
//     box/<id>/       one sandbox: record, agent.sock, work/, tmp/
//     pool            which loop device the storage pool is on
//
//   Killed, it leaves agents running and records lying; its successor opens a pidfd for each
//   (checked by start time, so that no stranger is mistaken for an agent), goes on watching, and
//   removes what is half made or has ended. It holds each sandbox's expiry, so that a time to live
//   holds while the daemon is away. With no sandbox and no client it leaves, and leaves nothing.
//
// Making begins with the sandbox's directory, so that nothing exists that no name tells of; then
// come ids, control groups, and in one clone namespaces, mounts and the agent; then the record. A
// directory without a record is half made, and whoever finds it takes it down. The client gets the
// way to the agent last, so that nothing can run in a sandbox whose limits are not yet set. Taking
// down begins with the processes, by control group and pid namespace; mounts and namespaces go with
// the last of them; then groups and ids, and the directory at the very end.
//
// One launcher at a time serves a run directory, by a lock on it. One whose keeper was killed goes
// on serving; the launcher of a new keeper waits for its end, and does not take what is just being
// made for something left behind.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "native/launcher/agent_process.h"
#include "native/launcher/box_maker.h"
#include "native/launcher/box_starter.h"
#include "native/launcher/record.h"
#include "native/launcher/spare_directories.h"
#include "native/launcher_protocol.h"
#include "os/poller.h"

namespace atl::native {

enum class LauncherLife : uint8_t {
  kept,      // listens in the run directory; sandboxes outlive clients
  embedded,  // serves one client on an inherited socket and ends every sandbox with it
};

struct LauncherOptions {
  LauncherLife life = LauncherLife::kept;
  Fd run_directory;
  Fd client;    // embedded
  Fd listener;  // in a service: others listen for us, and SIGTERM ends every sandbox
  Fd program;   // the agent's executable
  Fd oci_program;
  Fd pool_program;
  Identity identity;
};

class Launcher final {
 public:
  static Result<std::unique_ptr<Launcher>> create(LauncherOptions options);
  ~Launcher();

  // Serves until there is nothing left to do.
  Result<> run();

 private:
  struct Client {
    Fd socket;
    Identity peer;
    bool greeted = false;
    bool closed = false;
  };
  struct Box;
  struct Making;
  // A request for a sandbox that needs the storage pool, or its turn.
  struct Waiting {
    Client* client;
    uint32_t request;
    LaunchRequest launch;
    std::vector<Fd> descriptors;
  };

  explicit Launcher(LauncherOptions options, os::Poller poller, std::string boot_id);

  Result<> wait_for_predecessor();
  Result<> open_run_directory();
  Result<> take_up(const std::string& id);
  void take_up_all();
  Result<> watch_signals();
  Result<> listen();
  Result<> accept_from_listener();
  void add_client(Fd socket, Identity peer);
  void on_client(Client& client);
  Result<> handle(Client& client, const Packet& packet, std::vector<Fd> descriptors);

  Result<> create_box(Client& client, uint32_t request, LaunchRequest launch,
                      std::vector<Fd> descriptors);
  bool needs_pool(const LaunchRequest& launch) const;
  void serve_waiting();
  bool is_being_made(const std::string& id) const;
  // In its directory, which is there.
  Result<> begin_box(Waiting& one);
  void start(std::unique_ptr<Making> making);
  void start_prepared();
  void on_started();
  Result<> end_box(Making making, StartedAgent agent);
  // Opening the storage pool takes its time, so a worker does it while we go on serving; who needs
  // it waits in waiting_.
  Result<> start_pool();
  void on_pool_answer();
  void drop_waiting(const std::string& id);
  Result<StartedAgent> start_plain(Box& box, const LaunchRequest& launch,
                                   std::vector<Fd>& descriptors, int connection, int listener);
  Result<Box*> find_box(const std::string& id);
  Result<Fd> open_directory(const std::string& id);
  Result<> connect_box(Client& client, uint32_t request, const std::string& id);
  // Answers the client once nothing is left.
  void destroy_box(Client* client, uint32_t request, Box& box);
  void begin_ending(Box& box);
  void on_agent_ended(const std::string& id);
  void kill_inherited();
  void remove_box(Box& box);
  void remove_directory(const std::string& id);
  void remove_cgroups(const std::string& id);
  void on_worker_ended(pid_t worker);
  void finish(Box& box);

  void answer(Client& client, uint32_t request, Operation operation, std::string_view body,
              int descriptor = -1);
  void tell_all(const EndedEvent& event);
  void expect_deadline(Micros at);
  Micros next_deadline() const;
  void act_on_deadlines();
  bool is_done() const;
  // Takes nobody in any more, ends every sandbox, and is done then.
  void leave();

  LauncherOptions options_;
  os::Poller poller_;
  std::string boot_id_;
  std::unique_ptr<BoxMaker> maker_;
  BoxStarter* starter_ = nullptr;
  std::unique_ptr<Making> making_;
  std::unique_ptr<Making> prepared_;  // starts as soon as that one has
  bool has_inherited_ = false;        // and could not look for it yet
  Fd lock_;
  Fd boxes_directory_;
  SpareDirectories spares_;
  Fd listener_;
  Fd signals_;
  std::list<std::unique_ptr<Client>> clients_;
  std::map<std::string, std::unique_ptr<Box>> boxes_;
  std::map<pid_t, std::string> workers_;  // and the sandbox that they remove, if that is their work
  Fd pool_answer_;
  pid_t pool_worker_ = 0;
  Micros pool_deadline_{0};
  std::list<Waiting> waiting_;
  Micros soonest_{0};  // nothing becomes of a sandbox by itself before; 0 = ever
  size_t most_well_kept_;
  Micros idle_since_{0};
  bool had_client_ = false;
  bool is_leaving_ = false;
};

}  // namespace atl::native
