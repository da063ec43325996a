// What the clients of a life do.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "json/describe.h"
#include "tests/simulation/life.h"

namespace atl::simulation {
namespace {

constexpr std::chrono::seconds kIdle{20};

}  // namespace

bool Life::begin_operation() {
  switch (dice_.below(13)) {
    case 0:
    case 1:
    case 2:
      return begin_create();
    case 3:
      return begin_repeat();
    case 4:
      return begin_run();
    case 5:
      return write_file();
    case 6:
      return begin_upkeep();
    case 7:
    case 8:
      return begin_session();
    case 9:
      return begin_crowding();
    default:
      return begin_change();
  }
}

bool Life::begin_create() {
  const std::string number = std::to_string(++made_);
  Asked asked{.tag = "t" + number, .first_at = clock_.boot()};
  asked.is_pooled = dice_.one_in(3);
  if (dice_.one_in(3)) asked.key = "key-" + number;
  if (dice_.one_in(4)) asked.name = "box-" + std::to_string(dice_.below(6));
  draw_place(asked);
  asked.ttl = std::chrono::seconds(dice_.one_in(4) ? 60 : 3600);
  if (dice_.one_in(2)) asked.strategy = static_cast<policy::Strategy>(dice_.below(5));
  const std::vector keeps{OnEnd::stop, OnEnd::pause};
  if (dice_.one_in(4)) {
    asked.on_expire = dice_.pick(keeps);
    asked.keep = std::chrono::seconds(dice_.one_in(2) ? 60 : 3600);
  }
  if (dice_.one_in(4)) asked.on_idle = dice_.pick(keeps);
  if (dice_.one_in(5)) asked.on_failure = OnFailure::recreate;
  ledger_.ask(asked);
  if (!asked.key.empty() || !asked.name.empty()) repeatable_.push_back(asked);
  create(asked);
  return true;
}

void Life::draw_place(Asked& asked) {
  asked.floor = dice_.pick(
      std::vector{Isolation::none, Isolation::process, Isolation::container, Isolation::vm});
  asked.placement = dice_.pick(
      std::vector{Placement::host, Placement::own, Placement::own, Placement::third_party});
}

bool Life::begin_repeat() {
  if (repeatable_.empty()) return begin_create();
  const Asked asked = dice_.pick(repeatable_);
  if (!asked.key.empty() && dice_.one_in(4)) {
    repeat_with_another_body(asked.key);
  } else {
    create(asked);
  }
  return true;
}

// Whoever comes second with a key, and wants something else, gets nothing.
void Life::repeat_with_another_body(const std::string& key) {
  const Asked other{.tag = "t" + std::to_string(++made_), .key = key, .first_at = clock_.boot()};
  ledger_.ask(other);
  create(other);
}

CreateRequest Life::to_request(const Asked& asked) const {
  CreateRequest request;
  request.name = asked.name;
  if (asked.is_pooled) {
    request.profile = asked.floor == Isolation::vm ? "remote" : "ready";
    request.files.push_back({kTagFile, asked.tag});
  } else {
    request.env[kTag] = asked.tag;
  }
  request.ttl = asked.ttl;
  request.on_expire = asked.on_expire;
  if (asked.on_expire) request.keep = asked.keep;
  request.on_idle = asked.on_idle;
  if (asked.on_idle) request.idle = kIdle;
  if (asked.on_failure != OnFailure::fail) request.on_failure = asked.on_failure;
  if (asked.floor != Isolation::none && mutant_ != Mutant::wish_loses_its_floor)
    request.min_isolation = asked.floor;
  request.placement =
      mutant_ == Mutant::wish_loses_its_placement ? Placement::third_party : asked.placement;
  request.strategy = asked.strategy;
  return request;
}

void Life::create(const Asked& asked) {
  std::optional<Idempotency> idempotency;
  const std::string& body = mutant_ == Mutant::hash_knows_no_body ? asked.key : asked.tag;
  if (!asked.key.empty()) idempotency = Idempotency{asked.key, "hash-of-" + body};
  say("create " + asked.tag + " key=" + asked.key + " name=" + asked.name);
  begin<SandboxView>(
      engine_->create({}, to_request(asked), std::move(idempotency)), Caller::may_leave,
      [this, tag = asked.tag](Result<SandboxView> made) {
        if (!made) {
          say(tag + ": " + made.error().message());
          return ledger_.refuse(tag, made.error(), clock_.boot());
        }
        say(tag + " is " + made->id + ", " + std::string(json::name_of(made->state)));
        // A repeated request may get what an earlier daemon made.
        const Asked& known = ledger_.asked(tag);
        if (known.key.empty() && known.name.empty())
          ledger_.expect_in_log(made->id, State::running);
        check_fresh(tag, *made);
        ledger_.give(tag, hosts_.tag_of(made->id), *made, clock_.boot());
      });
}

void Life::check_fresh(const std::string& tag, const SandboxView& view) {
  if (view.pool.empty() || ledger_.given().contains(view.id)) return;
  ++pool_hits_;
  const auto box = hosts_.find(view.driver, view.id);
  if (!box || !ledger_.asked(tag).name.empty()) return;
  for (const auto& [path, file] : box->files) {
    if (path != kTagFile && path != "/workspace")
      ledger_.accuse("I3: " + view.id + " was given to " + tag + " with " + path + " in it");
  }
}

bool Life::begin_run() {
  const std::string tag = "run" + std::to_string(++made_);
  Asked asked{.tag = tag, .is_pooled = dice_.one_in(3)};
  draw_place(asked);
  ledger_.ask(asked);
  ExecRequest exec;
  exec.argv = {"echo", tag};
  say("run " + tag);
  begin<RunResult>(engine_->run({}, to_request(asked), std::move(exec), "", 100), Caller::may_leave,
                   [this, tag](Result<RunResult> done) {
                     if (!done) return say(tag + ": " + done.error().message());
                     if (done->exec.out != tag + "\n")
                       ledger_.accuse("I1: " + tag + " was answered with another's output");
                     // An answer to a run tells its isolation, and where it was by a name.
                     Found place = hosts_.place_of(done->driver);
                     place.tag = tag;
                     ledger_.check_told(tag, tag, done->isolation, place.placement);
                     ledger_.check_floor(tag, place);
                   });
  return true;
}

bool Life::begin_upkeep() {
  if (dice_.one_in(4)) {
    say("probe");
    begin<void>(engine_->probe_drivers(), Caller::may_leave, [](Result<>) {});
    return true;
  }
  const bool reaps = dice_.one_in(2);
  say(reaps ? "reap" : "sweep");
  begin<void>(reaps ? engine_->reap() : engine_->sweep(), Caller::may_leave, [](Result<>) {});
  return true;
}

// The guest writes a file, and a client has seen that it did.
bool Life::write_file() {
  const auto id = pick_given();
  const auto view = id ? engine_->get({}, *id) : Error(Code::not_found, "");
  const auto box = view ? hosts_.find(view->driver, *id) : nullptr;
  if (!box || !box->running) return false;
  const std::string path = "/workspace/f" + std::to_string(dice_.below(5));
  const std::string bytes = std::to_string(dice_.next());
  box->files[path] = {.bytes = bytes};
  // One that is made anew when it dies does not promise them.
  if (ledger_.asked(ledger_.at(*id).tag).on_failure == OnFailure::fail)
    ledger_.at(*id).files[path] = bytes;
  ++acknowledged_;
  return true;
}

bool Life::begin_change() {
  const auto id = pick_given();
  if (!id) return begin_create();
  switch (dice_.below(10)) {
    case 0:
      begin_move("pause", *id, engine_->pause({}, *id), State::paused);
      break;
    case 1:
      begin_move("resume", *id, engine_->resume({}, *id), State::running);
      break;
    case 2:
      begin_move("stop", *id, engine_->stop({}, *id), State::stopped);
      break;
    case 3:
      begin_move("start", *id, engine_->start({}, *id), State::running);
      break;
    case 4:
      begin_move("recreate", *id, engine_->recreate({}, *id), State::running);
      break;
    case 5:
      begin_renewal(*id);
      break;
    case 6:
      begin_fork(*id);
      break;
    case 7:
    case 8:
      begin_use(*id);
      break;
    default:
      begin_destroy(*id);
  }
  return true;
}

void Life::begin_move(const char* what, const std::string& id, Task<SandboxView> task,
                      State target) {
  say(std::string(what) + " " + id);
  ledger_.begin_call(id);
  begin<SandboxView>(
      std::move(task), Caller::may_leave, [this, id, target, what](Result<SandboxView> done) {
        say(std::string(what) + " " + id + ": " +
            (done ? std::string(json::name_of(done->state)) : done.error().message()));
        if (!done) return ledger_.end_call(id, std::nullopt);
        if (ledger_.at(id).calls == 1 && !ledger_.at(id).may_be_gone)
          ledger_.expect_in_log(id, target);
        ledger_.end_call(id, target);
      });
}

void Life::begin_renewal(const std::string& id) {
  say("renew " + id);
  const Micros begun = clock_.boot();
  ledger_.begin_renewal(id, kRenewal, begun);
  begin<SandboxView>(engine_->renew({}, id, kRenewal), Caller::may_leave,
                     [this, id, begun](Result<SandboxView> done) {
                       say("renew " + id + ": " + (done ? "done" : done.error().message()));
                       ledger_.end_renewal(id, done, kRenewal, begun, clock_.boot());
                     });
}

// A command or a file call, as far as the engine is concerned.
void Life::begin_use(const std::string& id) {
  say("use " + id);
  ledger_.begin_call(id);
  begin<GuestLease>(engine_->use({}, id), Caller::may_leave, [this, id](Result<GuestLease> used) {
    say("use " + id + ": " + (used ? "done" : used.error().message()));
    ledger_.end_use(id, used.has_value());
  });
}

// Everything works, so what rests must come back.
void Life::wake_all() {
  const auto page = engine_->list({}, {.limit = 1000});
  for (const auto& view : page->sandboxes) {
    const bool is_still = view.state == State::paused || view.state == State::stopped;
    const auto given = ledger_.given().find(view.id);
    // Nobody stopped it, as far as its client knows.
    const bool was_left_running =
        given != ledger_.given().end() && given->second.state == State::running;
    if (!is_still || (view.rest == Rest::none && !was_left_running)) continue;
    say("wake " + view.id);
    const bool is_given = given != ledger_.given().end();
    if (is_given) ledger_.begin_call(view.id);
    begin<GuestLease>(engine_->use({}, view.id), Caller::stays,
                      [this, is_given, id = view.id](Result<GuestLease> used) {
                        if (is_given) ledger_.end_use(id, used.has_value());
                        if (!used) {
                          return ledger_.accuse("I6: " + id + " rests, and does not come back: " +
                                                used.error().message());
                        }
                        const auto now = engine_->get({}, id);
                        if (!now || now->state != State::running)
                          ledger_.accuse("I6: " + id + " was woken, and does not run");
                        const auto box = hosts_.find(used->driver(), id);
                        if (!box || !box->running || box->paused)
                          ledger_.accuse("I6: " + id + " is said to be awake, and is not");
                      });
  }
}

void Life::begin_fork(const std::string& id) {
  say("fork " + id);
  const Micros begun = clock_.boot();
  ledger_.begin_call(id);
  begin<std::vector<SandboxView>>(
      engine_->fork({}, id, 1 + dice_.below(2)), Caller::may_leave,
      [this, id, begun](Result<std::vector<SandboxView>> children) {
        say("fork " + id + ": " + (children ? "done" : children.error().message()));
        const auto state = ledger_.at(id).state;
        ledger_.end_call(id, children ? state : std::nullopt);
        if (!children) return;
        for (const auto& child : *children) ledger_.give_child(id, child, begun, clock_.boot());
      });
}

void Life::begin_destroy(const std::string& id) {
  say("destroy " + id);
  ledger_.at(id).may_be_gone = true;
  ledger_.begin_call(id);
  begin<void>(engine_->destroy({}, id), Caller::may_leave, [this, id](Result<> done) {
    say("destroy " + id + ": " + (done ? "done" : done.error().message()));
    ledger_.end_call(id, std::nullopt);
    if (done) ledger_.at(id).must_be_gone = true;
  });
}

template <typename T>
Task<> Life::keep(Task<T> task, std::shared_ptr<std::optional<Result<T>>> out) {
  auto result = co_await std::move(task);
  out->emplace(std::move(result));
  co_return Result<>();
}

template <typename T>
void Life::begin(Task<T> task, Caller caller, std::function<void(Result<T>)> settle) {
  const auto result = std::make_shared<std::optional<Result<T>>>();
  Call call{.is_done = [result] { return result->has_value(); },
            .settle =
                [this, result, settle = std::move(settle)] {
                  if (**result) ++acknowledged_;
                  settle(std::move(**result));
                },
            .cancel = nullptr};
  const auto signal = std::make_shared<asio::cancellation_signal>();
  if (caller == Caller::may_leave) call.cancel = signal;
  asio::co_spawn(*loop_, keep(std::move(task), result),
                 asio::bind_cancellation_slot(signal->slot(), [signal](auto&&...) {}));
  calls_.push_back(std::move(call));
}

template void Life::begin(Task<SandboxView> task, Caller caller,
                          std::function<void(Result<SandboxView>)> settle);
template void Life::begin(Task<SessionView> task, Caller caller,
                          std::function<void(Result<SessionView>)> settle);
template void Life::begin(Task<> task, Caller caller, std::function<void(Result<>)> settle);

}  // namespace atl::simulation
