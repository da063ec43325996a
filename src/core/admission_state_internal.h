// AdmissionState: what Admission decides by, shared with the places that it has given, which may
// outlive it. For admission.cc alone.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/delay.h"
#include "base/fair_queue.h"
#include "base/refusal.h"
#include "core/admission.h"
#include "core/pace.h"
#include "core/rate_limiter.h"
#include "telemetry/metrics.h"

namespace atl {

// What is known of a tenant that has something under way, or had lately.
struct AdmissionTenant {
  explicit AdmissionTenant(std::string its_name, policy::Quota its_quota)
      : name(std::move(its_name)), quota(its_quota) {}

  bool is_full() const { return quota.at_once && at_once >= static_cast<size_t>(*quota.at_once); }

  const std::string name;
  const policy::Quota quota;
  size_t places = 0;   // that somebody holds
  size_t at_once = 0;  // of which these have a turn
  policy::Amounts kept;
  Pace ends;  // of its sandboxes
};

inline constexpr size_t kMostIdleTenants = 4'096;

struct AdmissionWaiter {
  AdmissionWaiter(Admission::Ask its_ask, const asio::any_io_executor& executor)
      : ask(std::move(its_ask)), called(executor) {}

  Admission::Ask ask;
  Event called;
  Micros since{0};
  Micros deadline{0};
  std::optional<Place> place;
  std::optional<Error> refused;
};

// A limit that is met, in words and for programs.
struct AdmissionObstacle {
  std::string words;
  Refusal refusal;
};

inline Refusal to_refusal(const policy::Shortage& shortage, std::string_view prefix) {
  return {.limit = std::string(prefix) + std::string(shortage.limit),
          .most = shortage.most,
          .used = shortage.used,
          .asked = shortage.asked};
}

inline Error to_error(AdmissionObstacle obstacle, std::string_view hint) {
  return Error(Code::resource_exhausted, std::move(obstacle.words))
      .with_hint(hint)
      .at_stage("admission")
      .with_refusal(std::make_shared<const Refusal>(std::move(obstacle.refusal)));
}

inline Error shutting_down() {
  return Error(Code::unavailable, "Atoll is shutting down").with_hint("try again in a moment");
}

inline double in_seconds(Micros time) { return std::chrono::duration<double>(time).count(); }

class AdmissionState final : public std::enable_shared_from_this<AdmissionState> {
 public:
  AdmissionState(asio::any_io_executor on, const Clock& the_clock, telemetry::Metrics& the_metrics,
                 SandboxTable& the_sandboxes, EventLog& the_events, const EngineOptions& options)
      : executor(std::move(on)),
        clock(the_clock),
        metrics(the_metrics),
        at_once_counter(metrics.admissions.at("at_once")),
        sandboxes(the_sandboxes),
        events(the_events),
        settings(options.admission),
        most_per_tenant(static_cast<int64_t>(options.most_sandboxes_per_tenant)),
        host(options.admission.quotas.host),
        rates(the_clock, {}),
        timer(executor) {
    host.sandboxes = static_cast<int64_t>(options.most_sandboxes);
  }

  policy::Quota quota_of(const std::string& tenant) const {
    policy::Quota quota = settings.quotas.of(tenant);
    if (!quota.sandboxes) quota.sandboxes = most_per_tenant;
    return quota;
  }

  AdmissionTenant& tenant_of(const std::string& name) {
    if (const auto found = tenants.find(name); found != tenants.end()) return *found->second;
    if (tenants.size() >= kMostIdleTenants)
      std::erase_if(tenants, [](const auto& entry) { return entry.second->places == 0; });
    return *tenants.emplace(name, std::make_unique<AdmissionTenant>(name, quota_of(name)))
                .first->second;
  }

  Result<> check_quota(const AdmissionTenant& tenant, const policy::Amounts& more) const {
    const policy::Amounts used = sandboxes.used_by(tenant.name) + tenant.kept;
    const auto shortage = find_shortage(tenant.quota, used, more);
    if (!shortage) return {};
    metrics.admissions.at("quota").add();
    AdmissionObstacle obstacle{"this tenant " + shortage->words(), to_refusal(*shortage, "")};
    obstacle.refusal.retry_after = tenant.ends.until(clock.boot(), 1);
    return to_error(std::move(obstacle),
                    "destroy some, or ask for less; GET /v1/limits tells what there may be");
  }

  // What stands in the way of everybody, whoever asks.
  std::optional<AdmissionObstacle> find_obstacle(const policy::Amounts& more) const {
    if (settings.most_creations != 0 && making >= settings.most_creations) {
      const auto most = static_cast<double>(settings.most_creations);
      return AdmissionObstacle{
          fmt::format("{} sandboxes are being made, as many as may be at a time", making),
          {.limit = "creations", .most = most, .used = static_cast<double>(making)}};
    }
    const auto shortage = find_shortage(host, sandboxes.used() + kept, more);
    if (!shortage) return std::nullopt;
    std::string words =
        shortage->limit == "sandboxes"
            ? fmt::format("there are {:.10g} sandboxes, which is the limit", shortage->used)
            : "this host " + shortage->words();
    return AdmissionObstacle{std::move(words), to_refusal(*shortage, "host_")};
  }

  std::optional<AdmissionObstacle> find_obstacle(const AdmissionTenant& tenant,
                                                 const policy::Amounts& more) const {
    if (tenant.is_full()) {
      return AdmissionObstacle{
          fmt::format("this tenant has {} creates and runs under way, as many as it may",
                      tenant.at_once),
          {.limit = "at_once",
           .most = static_cast<double>(*tenant.quota.at_once),
           .used = static_cast<double>(tenant.at_once)}};
    }
    return find_obstacle(more);
  }

  // Waiting would be in vain.
  Result<> check_possible(const policy::Amounts& more) const {
    const auto shortage = find_shortage(host, policy::Amounts{}, more);
    if (!shortage) return {};
    return to_error({"this host " + shortage->words(), to_refusal(*shortage, "host_")},
                    "ask for less: there is never more");
  }

  Result<> take_creates(const AdmissionTenant& tenant, size_t count) {
    if (!tenant.quota.creates_per_s) return {};
    const double rate = *tenant.quota.creates_per_s;
    const auto wait =
        rates.take(tenant.name, {rate, std::max(1.0, 2 * rate)}, static_cast<double>(count));
    if (!wait) return {};
    metrics.admissions.at("rate").add();
    return to_error({fmt::format("this tenant may create {:.10g} in a second, and has", rate),
                     {.limit = "creates_per_s",
                      .most = rate,
                      .asked = static_cast<double>(count),
                      .retry_after = std::chrono::ceil<std::chrono::seconds>(*wait)}},
                    "wait as long as Retry-After says");
  }

  Place keep(AdmissionTenant& tenant, const policy::Amounts& amounts) {
    Place place;
    place.state_ = shared_from_this();
    place.tenant_ = &tenant;
    place.kept_ = amounts;
    ++tenant.places;
    tenant.kept += amounts;
    kept += amounts;
    return place;
  }

  Place give_turn(AdmissionTenant& tenant, const policy::Amounts& amounts) {
    Place place = keep(tenant, amounts);
    place.has_turn_ = place.is_making_ = true;
    ++tenant.at_once;
    ++making;
    if (tenant.is_full()) queue.hold(tenant.name);
    return place;
  }

  Result<std::optional<Place>> try_enter(const std::string& name, const policy::Amounts& amounts) {
    if (is_closed) return shutting_down();
    AdmissionTenant& tenant = tenant_of(name);
    TRY_OK(check_quota(tenant, amounts));
    TRY_OK(take_creates(tenant, 1));
    const bool passes_somebody = queue.size() > 0 && (queue.front() || queue.size_of(name) > 0);
    if (passes_somebody || find_obstacle(tenant, amounts)) return std::nullopt;
    at_once_counter.add();
    return give_turn(tenant, amounts);
  }

  // What the settings of a place no longer hold may be somebody's.
  void settle(Place& place) {
    place.tenant_->kept -= place.kept_;
    kept -= place.kept_;
    place.kept_ = {};
  }

  void made(Place& place) {
    if (std::exchange(place.is_making_, false)) --making;
  }

  void leave(Place& place) {
    AdmissionTenant& tenant = *place.tenant_;
    settle(place);
    made(place);
    --tenant.places;
    if (place.has_turn_) {
      --tenant.at_once;
      if (!tenant.is_full()) queue.let(tenant.name);
    }
    serve();
  }

  // Whoever is next and has room is called; who is next and has none is waited for, so that large
  // requests are not passed by small ones for ever.
  void serve() {
    if (is_closed) return;
    while (const auto next = queue.front()) {
      const auto waiter = waiters.at(*next);
      AdmissionTenant& tenant = tenant_of(waiter->ask.view.tenant);
      if (auto within = check_quota(tenant, waiter->ask.amounts); !within) {
        send_away(*next, std::move(within).error());
        continue;
      }
      if (find_obstacle(waiter->ask.amounts)) return;
      queue.pop();
      forget(*next);
      const Micros now = clock.boot();
      turns.note(now);
      metrics.admissions.at("waited").add();
      metrics.queue_wait.at().observe(now - waiter->since);
      waiter->place = give_turn(tenant, waiter->ask.amounts);
      waiter->called.fire();
    }
  }

  // The last of whoever has the most waiting makes room for somebody who has less.
  Result<> make_room(const std::string& tenant) {
    if (queue.size() < settings.longest_queue) return {};
    const auto longest = queue.longest();
    AdmissionObstacle full{fmt::format("{} requests wait already, as many as may", queue.size()),
                           {.limit = "queue",
                            .most = static_cast<double>(settings.longest_queue),
                            .used = static_cast<double>(queue.size()),
                            .queue_length = queue.size(),
                            .retry_after = retry_after(queue.size())}};
    metrics.admissions.at("full").add();
    Error error = to_error(std::move(full), "try again as late as Retry-After says");
    if (longest.size <= queue.size_of(tenant) + 1) return error;
    send_away(longest.last, std::move(error));
    return {};
  }

  std::chrono::seconds retry_after(size_t position) const {
    return turns.until(clock.boot(), static_cast<double>(position));
  }

  Result<FairQueue::Number> enqueue(Admission::Ask ask) {
    if (is_closed) return shutting_down();
    TRY_OK(check_possible(ask.amounts));
    const std::string name = ask.view.tenant;
    const Millis patience = ask.timeout.value_or(settings.queue_timeout);
    if (patience.count() <= 0) {
      metrics.admissions.at("full").add();
      auto obstacle = find_obstacle(tenant_of(name), ask.amounts);
      if (!obstacle) obstacle = AdmissionObstacle{"others wait for their turn", {.limit = "queue"}};
      obstacle->refusal.retry_after = retry_after(queue.size() + 1);
      obstacle->refusal.queue_length = queue.size();
      return to_error(*std::move(obstacle), "try again, or wait for a turn: queue_timeout_ms");
    }
    TRY_OK(make_room(name));
    auto waiter = std::make_shared<AdmissionWaiter>(std::move(ask), executor);
    waiter->since = clock.boot();
    waiter->deadline = waiter->since + patience;
    // Its tenant may be at its limit with nobody waiting so far.
    if (tenant_of(name).is_full()) queue.hold(name);
    const auto number = queue.push(name);
    waiters.emplace(number, waiter);
    deadlines.emplace(waiter->deadline, number);
    // A run without a name has no id before its turn comes.
    if (!waiter->ask.view.id.empty())
      events.add_waiting(waiter->ask.view, waiter->ask.lifecycle, queue.position(number));
    set_timer();
    return number;
  }

  std::optional<FairQueue::Number> find(const Caller& caller, std::string_view id_or_name) const {
    for (const auto& [number, waiter] : waiters) {
      const SandboxView& view = waiter->ask.view;
      const bool is_it =
          view.id == id_or_name || (view.name == id_or_name && view.tenant == caller.tenant);
      if (is_it && sees(caller, view.tenant, view.owner, view.id)) return number;
    }
    return std::nullopt;
  }

  void forget(FairQueue::Number number) {
    const auto found = waiters.find(number);
    if (found == waiters.end()) return;
    deadlines.erase({found->second->deadline, number});
    waiters.erase(found);
  }

  void send_away(FairQueue::Number number, Error why) {
    const auto found = waiters.find(number);
    if (found == waiters.end()) return;
    const auto waiter = found->second;
    queue.remove(number);
    forget(number);
    waiter->refused = std::move(why);
    waiter->called.fire();
  }

  void expire(FairQueue::Number number) {
    const AdmissionWaiter& waiter = *waiters.at(number);
    const size_t position = queue.position(number);
    auto obstacle = find_obstacle(tenant_of(waiter.ask.view.tenant), waiter.ask.amounts);
    if (!obstacle) obstacle = AdmissionObstacle{"others have their turn first", {.limit = "queue"}};
    const Micros waited = clock.boot() - waiter.since;
    obstacle->words = fmt::format("{}; after {:.3g} s this is number {} of {} that wait",
                                  obstacle->words, in_seconds(waited), position, queue.size());
    obstacle->refusal.queue_position = position;
    obstacle->refusal.queue_length = queue.size();
    obstacle->refusal.retry_after = retry_after(position);
    metrics.admissions.at("timeout").add();
    send_away(number, to_error(*std::move(obstacle),
                               "try again as late as Retry-After says, or let it wait longer: "
                               "queue_timeout_ms"));
  }

  void step() {
    const Micros now = clock.boot();
    while (!deadlines.empty() && deadlines.begin()->first <= now) expire(deadlines.begin()->second);
    serve();
    set_timer();
  }

  // For whoever is due first. The timer does not count time that the machine slept; who waits has
  // slept as well.
  void set_timer() {
    if (deadlines.empty() || is_closed) return;
    if (timer_at == deadlines.begin()->first) return;
    timer_at = deadlines.begin()->first;
    const Micros sleep = std::max(timer_at - clock.boot(), Micros(1'000));
    timer.after(sleep, [weak = weak_from_this()] {
      const auto state = weak.lock();
      if (!state) return;
      state->timer_at = Micros(0);
      state->step();
    });
  }

  void close() {
    is_closed = true;
    while (!waiters.empty()) send_away(waiters.begin()->first, shutting_down());
  }

  asio::any_io_executor executor;
  const Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Counter& at_once_counter;
  SandboxTable& sandboxes;
  EventLog& events;
  const AdmissionOptions& settings;
  const int64_t most_per_tenant;
  policy::Quota host;
  RateLimiter rates;
  Delay timer;
  Micros timer_at{0};  // zero = it is not set

  std::unordered_map<std::string, std::unique_ptr<AdmissionTenant>> tenants;
  FairQueue queue;
  std::unordered_map<FairQueue::Number, std::shared_ptr<AdmissionWaiter>> waiters;
  std::set<std::pair<Micros, FairQueue::Number>> deadlines;
  policy::Amounts kept;
  size_t making = 0;
  Pace turns;
  bool is_closed = false;
};

}  // namespace atl
