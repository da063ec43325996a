// Sessions: who holds which shared sandbox, and what happens when the last one lets go.
//
// A session is a row; how many hold a sandbox is counted from the rows and stored nowhere, so no
// crash can make the number wrong. A sandbox is made before its first row is written, and ended
// after its last row is gone: one that is found without a row after a restart is treated as left.
// A session that nobody renews ends by itself, so a dead client holds nothing for long.
//
// Whoever opens or closes takes the turn of the sandbox's name, so a sandbox that is being left is
// not joined.
#pragma once

#include <map>
#include <set>

#include "core/changer.h"
#include "core/creator.h"
#include "core/destroyer.h"
#include "core/lanes.h"
#include "core/parts.h"
#include "core/session_view.h"

namespace atl {

inline constexpr size_t kMostSessionsPerTenant = 10'000;

class Sessions final {
 public:
  // How long a step waits for what it has begun; what takes longer goes on.
  static constexpr Millis kPatience = std::chrono::seconds(2);

  Sessions(Parts& parts, Creator& creator, Destroyer& destroyer, Changer& changer);

  // What it begins holds on to this; called before anything else.
  void set_owner(std::weak_ptr<void> owner) { ends_.set_owner(std::move(owner)); }

  // What the store knew, once the sandboxes have been taken up; ends what was left.
  Task<> load();

  // Joins the sandbox of the scope's key, or makes it. Without a request it is joined as it is, and
  // made with what the daemon gives to everybody; with one that differs
  // it is Code::already_exists.
  Task<SessionView> open(Caller caller, SessionAsk ask, std::optional<CreateRequest> request);
  Result<SessionView> get(const Caller& caller, std::string_view id) const;
  std::vector<SessionView> list(const Caller& caller) const;
  // It lives on from now, and the sandbox as long as it.
  Task<SessionView> renew(Caller caller, std::string id, std::optional<std::chrono::seconds> ttl);
  Task<> close(Caller caller, std::string id);

  // Closes those that nobody has renewed, and forgets those whose sandbox has ended; each driver's
  // beside the others', so that one which hangs holds up nobody else's.
  Task<> step();
  // Steps now and then until stop().
  Task<> run();
  void stop();

 private:
  struct Session {
    SessionView view;
    std::chrono::seconds ttl{0};
    Micros expires_boot{0};
  };
  using SessionPtr = std::shared_ptr<Session>;

  Result<SessionPtr> find(const Caller& caller, std::string_view id) const;
  SessionView view_of(const Session& session) const;
  Task<RecordPtr> join_or_make(Caller caller, SessionAsk ask, std::optional<CreateRequest> request);
  Result<> check_usable(const SandboxRecord& record) const;
  Task<> write(SessionPtr session);
  enum class Why : uint8_t { asked, over };
  // What was over may have been renewed before its turn comes, and goes on then.
  Task<> close_now(SessionPtr session, Why why);
  bool is_over(const Session& session) const;
  Task<> close_over(SessionPtr session);
  // One that could not be ended when the last one let go.
  Task<> leave_again(std::string sandbox);
  // What becomes of a sandbox that nobody holds any more.
  Task<> leave(RecordPtr record);
  Task<> keep_alive(RecordPtr record, WallTime until);
  std::shared_ptr<Turns> gate_of(const std::string& tenant, const std::string& name);
  void insert(const SessionPtr& session);
  void erase(const SessionPtr& session);

  Parts& parts_;
  Creator& creator_;
  Destroyer& destroyer_;
  Changer& changer_;
  std::map<std::string, SessionPtr> by_id_;
  std::map<std::string, std::set<std::string>> by_sandbox_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Turns>> gates_;
  std::set<std::string> left_;  // sandboxes that could not be ended yet
  Lanes ends_;
  std::shared_ptr<Event> woken_;
  bool stopping_ = false;
};

}  // namespace atl
