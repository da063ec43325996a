#include "tests/simulation/life.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include "core/sandbox_record.h"
#include "json/describe.h"
#include "policy/profiles.h"
#include "telemetry/log.h"
#include "tests/simulation/emission.h"
#include "tests/simulation/outside.h"

namespace atl::simulation {
namespace {

constexpr size_t kMostCalls = 6;
// Without end a loop would turn for ever; a life has some thousand turns in all.
constexpr int kMostTurns = 100'000;
// Of what has nobody but dead and silent drivers to wait for.
constexpr std::chrono::minutes kLongest{10};

// Pools near and far, whose sandboxes come and go within a life.
constexpr const char* kProfiles = R"(
profiles:
  ready:
    min_isolation: container
    pool: {min: 1, target: 2, max: 3, idle: 20s, max_age: 60s}
  remote:
    min_isolation: vm
    pool: {target: 1, max: 2, idle: 60s, max_age: 2m}
)";

std::shared_ptr<const policy::Profiles> profiles() {
  static const auto loaded = [] {
    const std::vector<policy::ProfileText> texts{{"simulation.yaml", kProfiles}};
    return policy::Profiles::load(texts).value();
  }();
  return loaded;
}

}  // namespace

Life::Life(uint64_t seed, Mutant mutant, Trace::Told told)
    : mutant_(mutant),
      trace_(told),
      dice_(seed),
      schedule_(dice_),
      hosts_(dice_, schedule_, ledger_, trace_, clock_, mutant) {
  telemetry::set_level(telemetry::Level::off);
  outside::begin(seed);
  emission::begin(mutant, dice_);
  pass_time(Micros(0));
}

Life::~Life() { crash(); }

Outcome Life::live() {
  start();
  while (ledger_.lie().empty() &&
         (operations_ < kLeastOperations || trace_.fault_count() < kLeastFaults)) {
    step();
  }
  if (ledger_.lie().empty()) rest();
  return {ledger_.lie(), operations_, acknowledged_,   hosts_.failovers(),   pool_hits_,
          refused_,      queued_,     trace_.faults(), trace_.fault_count(), trace_.hash()};
}

void Life::start() {
  loop_ = std::make_unique<asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  store_ =
      std::make_unique<DiskStore>(loop_->get_executor(), disk_, schedule_, dice_, trace_, mutant_);
  EngineOptions options;
  options.boot_id = "boot-1";
  options.profiles = profiles();
  options.pooling = Pooling::on;
  if (mutant_ != Mutant::admission_knows_no_quota) options.admission.quotas = small_quotas();
  engine_ =
      std::make_unique<Engine>(loop_->get_executor(), *store_,
                               hosts_.drivers(loop_->get_executor()), metrics_, clock_, options);
  ledger_.restart_log();
  const auto recovered = std::make_shared<bool>(false);
  begin<void>(engine_->recover(), Caller::stays, [this, recovered](Result<> done) {
    *recovered = true;
    if (!done) ledger_.accuse("recovery failed: " + done.error().message());
  });
  // A daemon serves nobody before it has recovered.
  go_on_until(recovered, "recovery");
}

void Life::go_on_until(const std::shared_ptr<bool>& is_done, const char* what) {
  const Micros latest = clock_.boot() + kLongest;
  run_dry();
  collect();
  while (!*is_done && ledger_.lie().empty()) {
    if (!schedule_.is_empty()) {
      schedule_.release_one();
    } else {
      pass_time(std::chrono::seconds(1));
    }
    run_dry();
    collect();
    if (clock_.boot() > latest) ledger_.accuse(std::string(what) + " never ends");
  }
}

void Life::crash() {
  calls_.clear();
  engine_.reset();
  store_.reset();
  schedule_.restart();  // which has timers of the loop
  hosts_.forget_waiters();
  loop_.reset();
  ledger_.forget_calls(clock_.boot());
  holds_.forget_calls();
}

// Everything works again, and comes to an end.
void Life::rest() {
  disk_.refusals = 0;
  hosts_.calm_down();
  const auto drain = [&] {
    schedule_.release_all();
    run_dry();
    collect();
    // The only driver of a route is asked again after a pause, and some wait for an answer that is
    // not coming any more.
    constexpr Millis kPause{200};
    for (Millis waited{0}; waited < 2 * Link::kPatience && !calls_.empty(); waited += kPause) {
      pass_time(kPause);
      schedule_.release_all();
      run_dry();
      collect();
    }
    if (!calls_.empty()) ledger_.accuse("I1: a call is never answered");
  };
  drain();
  // What was given up may still come late.
  pass_time(Link::kPatience);
  drain();
  for (int round = 0; round < 2 && ledger_.lie().empty(); ++round) {
    if (round == 1) {
      crash();
      start();
    }
    for (int sweep = 0; sweep < 3; ++sweep) {
      begin<void>(engine_->reap(), Caller::stays, [](Result<>) {});
      drain();
      begin<void>(engine_->sweep(), Caller::stays, [](Result<>) {});
      drain();
      begin<void>(engine_->end_sessions(), Caller::stays, [](Result<>) {});
      drain();
      pass_time(std::chrono::seconds(1));
      drain();
    }
    std::map<std::string, State> said;
    for (const auto& view : list_all()) said[view.id] = view.state;
    ledger_.check_rest(hosts_.find_all(), said, clock_.boot());
    check_sessions();
    wake_all();
    drain();
  }
}

void Life::run_dry() {
  for (int turns = 0; turns < kMostTurns; ++turns) {
    loop_->restart();
    if (loop_->poll() == 0) return;
  }
  ledger_.accuse("the loop never comes to rest");
}

void Life::pass_time(Micros by) {
  clock_.advance(by);
  outside::set_time(clock_.boot(), clock_.wall());
}

void Life::step() {
  const bool may_begin = calls_.size() < kMostCalls;
  if (may_begin && (schedule_.is_empty() || dice_.one_in(3))) {
    if (begin_operation()) {
      ++operations_;
      for (const Fault fault : std::exchange(unmet_, {})) trace_.count(fault);
    }
  } else if (!schedule_.is_empty()) {
    schedule_.release_one();
  } else {
    // What is under way waits for a timer.
    pass_time(std::chrono::seconds(1));
  }
  if (dice_.one_in(30)) fault();
  pass_time(Millis(dice_.below(4)));
  run_dry();
  collect();
}

void Life::collect() {
  read_log();  // before the answers are, what they say must be in the log
  for (size_t i = 0; i < calls_.size();) {
    if (!calls_[i].is_done()) {
      ++i;
      continue;
    }
    const Call done = std::move(calls_[i]);
    calls_.erase(calls_.begin() + static_cast<ptrdiff_t>(i));
    done.settle();
  }
}

void Life::read_log() {
  if (mutant_ == Mutant::log_tells_it_twice && dice_.one_in(10)) tell_twice();
  auto page = engine_->events().after(ledger_.last_event(), 10'000);
  if (mutant_ == Mutant::log_drops_an_event && page.events.size() > 1 && dice_.one_in(10))
    page.events.erase(page.events.begin());
  if (mutant_ == Mutant::log_swaps_two_events && page.events.size() > 1 && dice_.one_in(10))
    std::swap(page.events[0], page.events[1]);
  for (const auto& event : page.events) {
    if (event->is_of_driver()) {
      say(event->driver + ": " + event->driver_change);
      continue;
    }
    say(event->sandbox + " on " + event->driver + ": " + std::string(json::name_of(event->from)) +
        " → " + std::string(json::name_of(event->to)));
  }
  ledger_.read_log(page.events);
}

// The first change that nobody has read yet is in the log once more.
void Life::tell_twice() {
  const auto page = engine_->events().after(ledger_.last_event(), 1);
  if (page.events.empty() || page.events.front()->from == page.events.front()->to) return;
  const SandboxEvent& event = *page.events.front();
  SandboxRecord again(loop_->get_executor());
  again.id = event.sandbox;
  again.driver = event.driver;
  again.state = event.to;
  engine_->events().add(again, event.from);
}

// What is nobody's, too.
std::vector<SandboxView> Life::list_all() const {
  const atl::Caller admin{.role = Role::admin};
  return engine_->list(admin, {.tenant = "*", .limit = 1000})->sandboxes;
}

std::optional<std::string> Life::pick_given() {
  std::vector<std::string> alive;
  for (const auto& [id, given] : ledger_.given()) {
    if (!given.must_be_gone) alive.push_back(id);
  }
  if (alive.empty()) return std::nullopt;
  return dice_.pick(alive);
}

// What the world does.

void Life::fault() {
  switch (dice_.below(18)) {
    case 0:
    case 1:
      trace_.count(Fault::daemon_killed);
      say("kill -9");
      crash();
      return start();
    case 2:
      return dice_.one_in(2) ? restart_in_order() : hosts_.bring_all_back();
    case 3:
    case 4:
      return hosts_.kill_one();
    case 5:
      return hosts_.slow_one_down();
    case 6:
    case 7:
    case 8:
      return hosts_.bring_all_back();
    case 9:
      ledger_.note_full_disk();
      disk_.is_unmet = true;
      disk_.refusals = 1 + static_cast<int>(dice_.below(3));
      return say("the disk is full");
    case 10:
      return let_time_pass();
    case 11:
      return set_clock();
    case 12:
      return let_a_caller_leave();
    case 13:
      return storm();
    case 14:
    case 15:
      return hosts_.cut_one_off();
    case 16:
      return narrow_a_driver();
    default:
      return let_a_sandbox_die();
  }
}

// As an upgrade does: calls end, sandboxes stay.
void Life::restart_in_order() {
  trace_.count(Fault::daemon_restarted);
  say("shut down");
  const auto is_down = std::make_shared<bool>(false);
  begin<void>(engine_->shut_down(Ending::leave_sandboxes), Caller::stays,
              [is_down](Result<>) { *is_down = true; });
  go_on_until(is_down, "shutting down");
  crash();
  start();
}

void Life::let_time_pass() {
  const auto by = std::chrono::seconds(1 + dice_.below(90));
  say(std::to_string(by.count()) + " s pass");
  pass_time(by);
  if (hosts_.expire(clock_.boot()) > 0) trace_.count(Fault::time_passed);
}

void Life::narrow_a_driver() {
  hosts_.narrow_one();
  begin<void>(engine_->probe_drivers(), Caller::may_leave, [](Result<>) {});
}

// By hours or by days: sandboxes and sessions live as long as before, and keys are known as long.
void Life::set_clock() {
  const int most = dice_.one_in(2) ? 120 : 4 * 24 * 60;
  const std::chrono::minutes by(static_cast<int>(dice_.below(2 * static_cast<uint64_t>(most))) -
                                most);
  if (by.count() == 0) return;
  leave_for_next(Fault::clock_set);
  say("the clock is set by " + std::to_string(by.count()) + " min");
  clock_.set_wall(clock_.wall() + by);
  pass_time(Micros(0));
}

void Life::let_a_caller_leave() {
  std::vector<Call*> can_leave;
  for (auto& call : calls_) {
    if (call.cancel) can_leave.push_back(&call);
  }
  if (can_leave.empty()) return;
  trace_.count(Fault::caller_gone);
  say("a caller goes away");
  dice_.pick(can_leave)->cancel->emit(asio::cancellation_type::total);
}

void Life::let_a_sandbox_die() {
  auto id = pick_given();
  if (dice_.one_in(3)) {
    std::vector<std::string> parked;
    for (const auto& view : list_all()) {
      if (view.is_parked) parked.push_back(view.id);
    }
    if (!parked.empty()) id = dice_.pick(parked);
  }
  const bool is_held = !holds_.sandboxes().empty() && dice_.one_in(4);
  if (is_held) {
    id = dice_.pick(std::vector(holds_.sandboxes().begin(), holds_.sandboxes().end()));
    holds_.note_harm(*id);
  }
  const atl::Caller admin{.role = Role::admin};
  const auto view = id ? engine_->get(admin, *id) : Error(Code::not_found, "");
  FakeHost* const host = view ? hosts_.find_host(view->driver) : nullptr;
  if (host == nullptr || !host->has(*id)) return;
  if (!view->is_parked && !is_held) ledger_.at(*id).may_be_gone = true;
  const auto kind = dice_.below(3);
  if (kind == 2 || host->is_running(*id)) trace_.count(Fault::sandbox_died);
  say(*id + " dies");
  if (kind == 0) return host->end(*id, EndedBy::death);
  if (kind == 1) return host->end_unheard(*id);
  host->lose(*id);
}

// Many clients with one request, or one that does not wait.
void Life::storm() {
  if (repeatable_.empty()) return;
  const Asked asked = dice_.pick(repeatable_);
  trace_.count(Fault::request_storm);
  for (size_t left = 3 + dice_.below(6); left > 0; --left) create(asked);
}

}  // namespace atl::simulation
