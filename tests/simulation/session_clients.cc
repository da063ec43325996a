// What the clients of a life do with sessions.
#include "json/describe.h"
#include "tests/simulation/life.h"

namespace atl::simulation {
namespace {

using std::chrono::seconds;

// Agents: what they do not hold they do not see.
const std::vector<std::string> kAgents = {"ann", "bob", "cid"};

atl::Caller agent(const std::string& name) { return {.subject = name, .role = Role::agent}; }

}  // namespace

bool Life::begin_session() {
  const auto open = holds_.open();
  if (open.empty() || dice_.one_in(2)) return open_session();
  const std::string id = dice_.pick(open);
  if (dice_.one_in(3)) {
    renew_session(id);
  } else {
    close_session(id);
  }
  return true;
}

bool Life::open_session() {
  const auto caller = agent(dice_.pick(kAgents));
  SessionAsk ask;
  ask.scope =
      dice_.pick(std::vector{SessionScope::session, SessionScope::workspace, SessionScope::shared});
  if (ask.scope == SessionScope::workspace) ask.key = "w" + std::to_string(dice_.below(2));
  if (ask.scope == SessionScope::shared) ask.key = "all";
  ask.ttl = seconds(dice_.one_in(4) ? 60 : 600);
  // What the last one leaves behind, by the key, so that all who share it ask for the same.
  std::optional<CreateRequest> request;
  if (dice_.one_in(2)) {
    request.emplace();
    if (ask.key == "w1") request->on_last = OnEnd::stop;
  }
  const std::string who = caller.subject + " " + std::string(json::name_of(*ask.scope)) + " " +
                          ask.key + (request ? "" : ", as it is");
  say("open " + who);
  const Micros begun = clock_.boot();
  holds_.begin_open(caller, ask);
  begin<SessionView>(
      engine_->open_session(caller, ask, std::move(request)), Caller::may_leave,
      [this, caller, ask, who, begun](Result<SessionView> opened) {
        say("open " + who + ": " +
            (opened ? opened->id + " on " + opened->sandbox : opened.error().message()));
        holds_.end_open(caller, ask, opened, begun, clock_.boot());
      });
  return true;
}

void Life::renew_session(const std::string& id) {
  const seconds ttl(600);
  say("renew " + id);
  const Micros begun = clock_.boot();
  holds_.begin_renewal(id, ttl, begun);
  begin<SessionView>(engine_->renew_session({}, id, ttl), Caller::may_leave,
                     [this, id, ttl, begun](Result<SessionView> done) {
                       say("renew " + id + ": " + (done ? "done" : done.error().message()));
                       holds_.end_renewal(id, done, ttl, begun, clock_.boot());
                     });
}

void Life::close_session(const std::string& id) {
  say("close " + id);
  holds_.begin_close(id);
  begin<void>(engine_->close_session({}, id), Caller::may_leave, [this, id](Result<> done) {
    say("close " + id + ": " + (done ? "done" : done.error().message()));
    if (done) holds_.end_close(id);
  });
}

void Life::check_sessions() {
  const atl::Caller admin{.role = Role::admin};
  const auto listed = engine_->list_sessions(admin);
  std::map<std::string, SandboxView> said;
  for (auto& view : list_all()) said.emplace(view.id, view);
  const std::string wrong = holds_.check(listed, said, clock_.boot());
  if (!wrong.empty()) return ledger_.accuse("I7: " + wrong);
  std::map<std::string, std::set<std::string>> holders;
  for (const auto& view : listed) holders[view.sandbox].insert(view.owner);
  for (const auto& [id, held_by] : holders) {
    for (const auto& name : kAgents) {
      const bool may_see = held_by.contains(name) || said.at(id).owner == name;
      if (engine_->get(agent(name), id).has_value() != may_see)
        ledger_.accuse("I7: " + name +
                       (may_see ? " holds " + id + ", and does not see it"
                                : " sees " + id + ", and does not hold it"));
    }
  }
}

}  // namespace atl::simulation
