#include "core/sessions.h"

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "core/profile_use.h"
#include "core/tenant_floor.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

using std::chrono::seconds;

constexpr Millis kLongestPause{5'000};
// So many of a driver's sandboxes end at a time.
constexpr size_t kAtOnce = 16;

int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

// "uid:1000" → "uid-1000": what a name may have.
std::string to_key(std::string_view subject) {
  std::string key(subject.empty() ? "local" : subject);
  std::ranges::replace_if(
      key, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
  return key;
}

Result<> settle_scope(const Caller& caller, SessionAsk& ask, const CreateRequest* request,
                      const policy::Profiles& profiles) {
  if (!ask.scope && request != nullptr && !request->profile.empty() &&
      request->profile != policy::kNoProfile) {
    auto known = profiles.get(request->profile);
    if (!known) return std::move(known).error().with("sandbox.profile").at_stage("request");
    ask.scope = json::find_enum<SessionScope>(json::name_of((*known)->profile.used_for()));
  }
  if (!ask.scope) ask.scope = SessionScope::session;
  switch (*ask.scope) {
    case SessionScope::session:
      if (!ask.key.empty()) return invalid("key", "a session of its own has none");
      return {};
    case SessionScope::agent:
      // Another agent's sandbox is not an agent's to join.
      if (!ask.key.empty() && caller.role == Role::agent && ask.key != to_key(caller.subject))
        return Error(Code::permission_denied, "key: an agent joins its own sandbox")
            .at_stage("request");
      if (ask.key.empty()) ask.key = to_key(caller.subject);
      break;
    case SessionScope::workspace:
      if (ask.key.empty()) return invalid("key", "a workspace has a name");
      break;
    case SessionScope::shared:
      if (ask.key.empty()) ask.key = "all";
      break;
  }
  return {};
}

// "" for a sandbox that nobody else joins.
std::string name_of(const SessionAsk& ask) {
  if (*ask.scope == SessionScope::session) return "";
  return std::string(json::name_of(*ask.scope)) + "-" + ask.key;
}

Result<seconds> life_of(std::optional<seconds> ttl) {
  const seconds life = ttl.value_or(kDefaultSessionLife);
  if (life >= kShortestSessionLife && life <= kLongestSessionLife) return life;
  return invalid("ttl_s", "it is from " + std::to_string(kShortestSessionLife.count()) + " to " +
                              std::to_string(kLongestSessionLife.count()))
      .with_hint("renew the session before it ends");
}

}  // namespace

Sessions::Sessions(Parts& parts, Creator& creator, Destroyer& destroyer, Changer& changer)
    : parts_(parts),
      creator_(creator),
      destroyer_(destroyer),
      changer_(changer),
      ends_(parts.executor, kAtOnce) {}

Task<> Sessions::load() {
  for (const auto& row : std::exchange(parts_.session_rows, {})) {
    const auto scope = json::find_enum<SessionScope>(row.scope);
    if (!scope) continue;  // perhaps a newer daemon wrote it
    auto session = std::make_shared<Session>();
    session->view = {.id = row.id,
                     .tenant = row.tenant,
                     .owner = row.owner,
                     .scope = *scope,
                     .key = row.key,
                     .sandbox = row.sandbox,
                     .created_at = WallTime(Millis(row.created_at_ms)),
                     .expires_at = WallTime(Millis(row.expires_at_ms))};
    session->ttl = seconds(row.ttl_s);
    session->expires_boot = Micros(row.expires_boot_us);
    // A deadline on an earlier boot's clock means nothing on this one.
    if (row.boot_id != parts_.journal.boot_id()) {
      const auto left = session->view.expires_at - parts_.clock.wall();
      session->expires_boot =
          parts_.clock.boot() + std::clamp<Millis>(left, Millis(0), session->ttl);
    }
    insert(session);
  }
  // Made for a session whose row was never written, or left by one whose row is gone.
  for (const auto& record : parts_.sandboxes.all()) {
    const bool runs = record->state == State::running || record->awaits_driver;
    if (record->asked.scope && !by_sandbox_.contains(record->id) && runs) left_.insert(record->id);
  }
  co_return co_await step();
}

void Sessions::insert(const SessionPtr& session) {
  by_id_[session->view.id] = session;
  by_sandbox_[session->view.sandbox].insert(session->view.id);
  if (const auto record = parts_.sandboxes.find(session->view.sandbox))
    record->holders.insert(session->view.owner);
}

void Sessions::erase(const SessionPtr& session) {
  by_id_.erase(session->view.id);
  const auto held = by_sandbox_.find(session->view.sandbox);
  if (held == by_sandbox_.end()) return;
  held->second.erase(session->view.id);
  const auto record = parts_.sandboxes.find(session->view.sandbox);
  const bool holds_on = std::ranges::any_of(held->second, [&](const std::string& id) {
    return by_id_.at(id)->view.owner == session->view.owner;
  });
  if (record && !holds_on) record->holders.erase(session->view.owner);
  if (held->second.empty()) by_sandbox_.erase(held);
}

std::shared_ptr<Turns> Sessions::gate_of(const std::string& tenant, const std::string& name) {
  auto& gate = gates_[{tenant, name}];
  if (!gate) gate = std::make_shared<Turns>(parts_.executor);
  return gate;
}

Task<SessionView> Sessions::open(Caller caller, SessionAsk ask,
                                 std::optional<CreateRequest> request) {
  CO_TRY(const seconds life, life_of(ask.ttl));
  CO_TRY_OK(settle_scope(caller, ask, request ? &*request : nullptr, profiles_of(parts_.options)));
  if (request && !request->name.empty())
    co_return invalid("sandbox.name", "a session's sandbox is called after its scope and key");
  const auto count = std::ranges::count_if(
      by_id_, [&](const auto& one) { return one.second->view.tenant == caller.tenant; });
  if (static_cast<size_t>(count) >= kMostSessionsPerTenant) {
    co_return Error(Code::resource_exhausted, "there are as many sessions as a tenant may have")
        .with_hint("close some");
  }
  const std::string name = name_of(ask);
  if (!name.empty()) {
    if (!check_sandbox_name(name)) {
      const size_t most = kLongestSandboxName - (name.size() - ask.key.size());
      co_return invalid("key", "it has 1 to " + std::to_string(most) +
                                   " of a-z, 0-9 and '-', and no '-' at its end");
    }
  }
  const auto gate = gate_of(caller.tenant, name.empty() ? make_sandbox_id() : name);
  CO_TRY(auto turn, co_await gate->take());
  auto session = std::make_shared<Session>();
  const WallTime now = parts_.clock.wall();
  session->view = {.id = make_session_id(),
                   .tenant = caller.tenant,
                   .owner = caller.subject,
                   .scope = *ask.scope,
                   .key = ask.key,
                   .created_at = now};
  session->ttl = life;
  CO_TRY(const auto record,
         co_await join_or_make(std::move(caller), std::move(ask), std::move(request)));
  CO_TRY_OK(check_usable(*record));
  session->view.sandbox = record->id;
  session->view.expires_at = parts_.clock.wall() + life;
  session->expires_boot = parts_.clock.boot() + life;
  insert(session);
  left_.erase(record->id);
  auto written = co_await write(session);
  if (!written) {
    erase(session);
    auto left = co_await leave(record);
    static_cast<void>(left);  // what cannot be ended now is ended later
    co_return std::move(written).error().at_stage("commit");
  }
  auto kept = co_await keep_alive(record, session->view.expires_at);
  static_cast<void>(kept);  // the next renewal tries again
  co_return view_of(*session);
}

Task<RecordPtr> Sessions::join_or_make(Caller caller, SessionAsk ask,
                                       std::optional<CreateRequest> request) {
  const std::string name = name_of(ask);
  const auto there = name.empty() ? nullptr : parts_.sandboxes.find_name(caller.tenant, name);
  if (there && there->asked.scope != ask.scope) {
    co_return Error(Code::already_exists,
                    "the name " + name + " is taken by a sandbox that no session made")
        .with_hint("use another key, or destroy " + name + " first");
  }
  if (there && there->state == State::stopping) {
    co_return Error(Code::conflict, "sandbox " + name + " is being ended")
        .with_hint("try again in a moment");
  }
  if (there && !request) {
    CO_TRY_OK(co_await creator_.join(there));
    co_return there;
  }
  if (!request) request.emplace();
  request->name = name;
  request->scope = ask.scope;
  // Who shares it may see it before the session is there.
  const bool is_guest = there && there->holders.insert(caller.subject).second;
  auto made = co_await creator_.create(caller, *std::move(request), std::nullopt);
  if (is_guest) there->holders.erase(caller.subject);
  if (!made) co_return std::move(made).error();
  const auto record = parts_.sandboxes.find(made->id);
  if (!record) co_return Error(Code::unavailable, "sandbox " + made->id + " has ended meanwhile");
  co_return record;
}

// What its tenant may not have any more is refused now and not with the first use.
Result<> Sessions::check_usable(const SandboxRecord& record) const {
  if (record.state != State::stopped && record.state != State::failed) return {};
  return check_floor(parts_.options.admission.quotas, record, "be started");
}

Task<> Sessions::write(SessionPtr session) {
  const SessionView& view = session->view;
  store::SessionRow row{.id = view.id,
                        .tenant = view.tenant,
                        .owner = view.owner,
                        .scope = std::string(json::name_of(view.scope)),
                        .key = view.key,
                        .sandbox = view.sandbox,
                        .created_at_ms = to_ms(view.created_at),
                        .expires_at_ms = to_ms(view.expires_at),
                        .expires_boot_us = session->expires_boot.count(),
                        .boot_id = parts_.journal.boot_id(),
                        .ttl_s = session->ttl.count()};
  store::Transaction transaction{store::Durability::disk, {store::PutSession{std::move(row)}}};
  co_return co_await parts_.store.commit(std::move(transaction));
}

// Whoever holds a sandbox finds it there.
Task<> Sessions::keep_alive(RecordPtr record, WallTime until) {
  if (!record->expires_at || *record->expires_at >= until) co_return Result<>();
  auto renewed = co_await changer_.renew(record, std::nullopt);
  if (renewed) co_return Result<>();
  telemetry::log_warn("a session's sandbox could not be renewed",
                      {{"sandbox", record->id}, {"why", renewed.error().message()}});
  co_return std::move(renewed).error();
}

SessionView Sessions::view_of(const Session& session) const {
  SessionView view = session.view;
  const auto held = by_sandbox_.find(view.sandbox);
  view.holders = held == by_sandbox_.end() ? 0 : held->second.size();
  return view;
}

Result<Sessions::SessionPtr> Sessions::find(const Caller& caller, std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  const bool is_seen =
      found != by_id_.end() && sees(caller, found->second->view.tenant, found->second->view.owner,
                                    found->second->view.sandbox);
  if (is_seen) return found->second;
  return Error(Code::not_found, "no session is called " + to_printable(id.substr(0, 80)))
      .with_hint("it may have ended because nobody renewed it");
}

Result<SessionView> Sessions::get(const Caller& caller, std::string_view id) const {
  TRY(const auto session, find(caller, id));
  return view_of(*session);
}

std::vector<SessionView> Sessions::list(const Caller& caller) const {
  std::vector<SessionView> views;
  for (const auto& [id, session] : by_id_) {
    const SessionView& view = session->view;
    const bool is_own = view.tenant == caller.tenant || caller.role == Role::admin;
    if (is_own && sees(caller, view.tenant, view.owner, view.sandbox))
      views.push_back(view_of(*session));
  }
  std::ranges::sort(views, {},
                    [](const SessionView& view) { return std::pair(view.created_at, view.id); });
  return views;
}

Task<SessionView> Sessions::renew(Caller caller, std::string id, std::optional<seconds> ttl) {
  CO_TRY(const auto session, find(caller, id));
  CO_TRY(const seconds life, life_of(ttl ? ttl : std::optional(session->ttl)));
  const auto record = parts_.sandboxes.find(session->view.sandbox);
  if (!record) {
    co_return Error(Code::not_found, "the sandbox of session " + id + " has ended")
        .with_hint("open another session");
  }
  // Written behind the end of its session, a renewal would bring that back with the next daemon.
  const auto gate = gate_of(session->view.tenant, record->name.empty() ? record->id : record->name);
  CO_TRY(auto turn, co_await gate->take());
  CO_TRY_OK(find(caller, id));
  Session before(*session);
  session->ttl = life;
  session->view.expires_at = parts_.clock.wall() + life;
  session->expires_boot = parts_.clock.boot() + life;
  auto written = co_await write(session);
  if (!written) {
    *session = std::move(before);
    co_return std::move(written).error();
  }
  CO_TRY_OK(co_await keep_alive(record, session->view.expires_at));
  co_return view_of(*session);
}

Task<> Sessions::close(Caller caller, std::string id) {
  CO_TRY(const auto session, find(caller, id));
  co_return co_await close_now(session, Why::asked);
}

// Nobody has renewed it, or its sandbox has ended.
bool Sessions::is_over(const Session& session) const {
  return session.expires_boot <= parts_.clock.boot() ||
         !parts_.sandboxes.find(session.view.sandbox);
}

Task<> Sessions::close_now(SessionPtr session, Why why) {
  const auto record = parts_.sandboxes.find(session->view.sandbox);
  const std::string name = record && !record->name.empty() ? record->name : session->view.sandbox;
  const auto gate = gate_of(session->view.tenant, name);
  CO_TRY(auto turn, co_await gate->take());
  if (!by_id_.contains(session->view.id)) co_return Result<>();
  if (why == Why::over && !is_over(*session)) co_return Result<>();
  store::Transaction transaction{store::Durability::disk, {store::DropSession{session->view.id}}};
  CO_TRY_OK(co_await parts_.store.commit(std::move(transaction)));
  erase(session);
  if (!record || by_sandbox_.contains(record->id)) co_return Result<>();
  auto left = co_await leave(record);
  if (!left) {
    telemetry::log_warn("a sandbox that nobody holds could not be ended, it is tried again",
                        {{"sandbox", record->id}, {"why", left.error().message()}});
  }
  co_return Result<>();
}

Task<> Sessions::leave(RecordPtr record) {
  if (by_sandbox_.contains(record->id) || record->ended_at) co_return Result<>();
  left_.insert(record->id);
  const OnEnd end = record->asked.on_last.value_or(OnEnd::kill);
  Result<> left;
  if (end == OnEnd::kill) {
    left = co_await destroyer_.destroy(record, EndReason::asked);
  } else {
    left = co_await changer_.rest_now(record, end);
  }
  if (left) left_.erase(record->id);
  co_return left;
}

Task<> Sessions::close_over(SessionPtr session) {
  auto closed = co_await close_now(session, Why::over);
  if (!closed) {
    telemetry::log_warn("a session could not be closed, it is tried again",
                        {{"session", session->view.id}, {"why", closed.error().message()}});
  }
  co_return Result<>();
}

Task<> Sessions::leave_again(std::string sandbox) {
  const auto record = parts_.sandboxes.find(sandbox);
  if (!record || by_sandbox_.contains(sandbox)) {
    left_.erase(sandbox);
    co_return Result<>();
  }
  // What could not be kept is not asked for again at once.
  if (record->is_kept() && record->rest_not_before > parts_.clock.boot()) co_return Result<>();
  auto ended = co_await leave(record);
  static_cast<void>(ended);  // tried again with the next step
  co_return Result<>();
}

Task<> Sessions::step() {
  std::vector<SessionPtr> over;
  for (const auto& [id, session] : by_id_) {
    if (is_over(*session)) over.push_back(session);
  }
  const auto ends = ends_.new_batch();
  for (const auto& session : over) {
    const auto record = parts_.sandboxes.find(session->view.sandbox);
    ends_.add(ends, record ? record->driver : "", session->view.id,
              [this, session] { return close_over(session); });
  }
  const auto left = left_;
  for (const auto& id : left) {
    const auto record = parts_.sandboxes.find(id);
    ends_.add(ends, record ? record->driver : "", id, [this, id] { return leave_again(id); });
  }
  CO_TRY_OK(co_await Lanes::wait_for(ends, kPatience));
  std::erase_if(gates_, [](const auto& gate) {
    return !gate.second->is_taken() && gate.second.use_count() == 1;
  });
  co_return Result<>();
}

Task<> Sessions::run() {
  while (!stopping_) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    auto waited = co_await woken->wait_for(kLongestPause);
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    auto stepped = co_await step();
    if (!stepped) telemetry::log_error("sessions", {{"why", stepped.error().message()}});
  }
  co_return Result<>();
}

void Sessions::stop() {
  stopping_ = true;
  ends_.stop();
  if (woken_) woken_->fire();
}

}  // namespace atl
