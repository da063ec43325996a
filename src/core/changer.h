// What can be done to a sandbox between its beginning and its end.
//
// Every call waits for the sandbox's turn, journals what it is about to do, does it, and settles.
#pragma once

#include "core/parts.h"

namespace atl {

class Changer final {
 public:
  explicit Changer(Parts& parts) : parts_(parts) {}

  Task<SandboxView> stop(RecordPtr record);
  Task<SandboxView> start(RecordPtr record);
  Task<SandboxView> recreate(RecordPtr record);
  Task<SandboxView> renew(RecordPtr record, std::optional<std::chrono::seconds> ttl);
  Task<SandboxView> pause(RecordPtr record);
  Task<SandboxView> resume(RecordPtr record);
  Task<std::string> snapshot(RecordPtr record, std::string name);
  Task<std::vector<SandboxView>> fork(RecordPtr record, size_t count);
  Task<SandboxView> resize(RecordPtr record, Resources resources);
  Task<SandboxStats> stats(RecordPtr record);

  // The driver says that its processes are gone, though nobody asked.
  void note_death(const RecordPtr& record, std::string why);

 private:
  // Moves to `state` and journals it; takes the move back if that fails.
  Task<Intent> enter(RecordPtr record, State state, Op op);
  // Journals that an operation came to nothing, and gives the reason back.
  Error fail(const RecordPtr& record, Intent intent, Error why);
  Task<> ensure_handle(RecordPtr record);
  // Code::unsupported, naming drivers that can, unless the sandbox's own driver can.
  Result<> check_able(const SandboxRecord& record, std::string_view verb,
                      bool (*can)(const Capabilities&));
  Task<SandboxView> restart(RecordPtr record, Op op);
  Task<SandboxView> set_paused(RecordPtr record, Op op);
  RecordPtr make_child(const SandboxRecord& parent);
  Task<> attach_children(RecordPtr parent, std::vector<RecordPtr> children);
  // Undoes a fork that failed, and gives the reason back.
  asio::awaitable<Error> drop_children(RecordPtr parent, std::vector<RecordPtr> children,
                                       Error why);

  Parts& parts_;
};

}  // namespace atl
