#include "core/pool_keeper.h"

#include <algorithm>

#include "base/text.h"
#include "core/pool_shape.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "json/json.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

// How much longer than its pool wants it a driver keeps a sandbox, if nobody ends it.
constexpr std::chrono::seconds kGrace{60};
constexpr Micros kLongestSleep = std::chrono::seconds(5);
constexpr Micros kShortestSleep = Millis(100);
constexpr Micros kNoPools = std::chrono::hours(1);
constexpr size_t kLongestName = 63;
constexpr Millis kPatienceForFills{2'000};

Result<> check_name(const std::string& name) {
  const bool fine =
      !name.empty() && name.size() <= kLongestName && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
  if (fine) return {};
  return Error(Code::invalid_argument,
               "name: it is 1 to 63 of a-z, 0-9, _ and -, beginning with a letter")
      .at_stage("request");
}

Error of_profile(const Pool& pool) {
  return Error(Code::conflict, "pool " + pool.name + " is of profile " + pool.spec.profile)
      .with_hint("change `pool` in the profile, and restart the daemon");
}

// Twice as long each time.
Micros pause_after(unsigned in_a_row) {
  const unsigned doubled = std::min(in_a_row - 1, 6U);
  return std::min(PoolKeeper::kFirstPause * (1U << doubled), PoolKeeper::kLongestPause);
}

// A backend may keep sandboxes for less than the grace.
Micros waits_until(const SandboxRecord& record) {
  const Micros life = record.expires_boot - record.last_active_boot;
  return record.expires_boot - std::min(Micros(kGrace), life / 2);
}

bool is_dead(const SandboxRecord& record) {
  return record.state == State::running &&
         (!record.failure.empty() || !record.handle || !record.handle->is_running());
}

// What nobody else can tell from what was asked before.
bool is_same(const PoolSpec& one, const PoolSpec& other) {
  return json::encode(one) == json::encode(other);
}

}  // namespace

PoolKeeper::PoolKeeper(Parts& parts, Creator& creator, Destroyer& destroyer, CallCount& calls)
    : parts_(parts),
      creator_(creator),
      destroyer_(destroyer),
      calls_(calls),
      fills_(parts.executor) {
  parts_.shelf.set_on_news([this] {
    has_news_ = true;
    if (news_) std::exchange(news_, nullptr)->fire();
  });
}

void PoolKeeper::load(const std::vector<store::PoolRow>& rows) {
  if (parts_.options.pooling == Pooling::off) return;
  const Micros now = parts_.clock.boot();
  const auto add = [&](const std::string& name, PoolSource source, PoolSpec spec) {
    auto settings = policy::settle(spec.size);
    if (!settings) {
      telemetry::log_error("a pool makes no sense",
                           {{"pool", name}, {"why", settings.error().message()}});
      return;
    }
    auto pool = std::make_shared<Pool>(name, source, std::move(spec), *settings, now);
    refresh(*pool);
    parts_.shelf.add(std::move(pool));
  };
  for (const auto& row : rows) {
    auto spec = json::decode<PoolSpec>(row.spec);
    if (spec) {
      add(row.name, PoolSource::operators, *std::move(spec));
    } else {
      telemetry::log_error("a pool of the store is unreadable",
                           {{"pool", row.name}, {"why", spec.error().message()}});
    }
  }
  for (const policy::KnownProfile* known : profiles_of(parts_.options).all()) {
    const policy::Profile& profile = known->profile;
    if (!profile.pool) continue;
    // Two versions of a profile have two pools.
    PoolSpec spec;
    spec.profile = profile.reference();
    spec.size = *profile.pool;
    add(profile.reference(), PoolSource::profile, std::move(spec));
  }
}

Result<PoolPtr> PoolKeeper::find(std::string_view name) const {
  if (auto pool = parts_.shelf.find(name)) return pool;
  return Error(Code::not_found, "no pool is called " + to_printable(name.substr(0, 80)))
      .with_hint("list the pools that there are: GET /v1/pools");
}

Result<PoolPtr> PoolKeeper::find_own(std::string_view name) const {
  TRY(auto pool, find(name));
  if (pool->source == PoolSource::profile) return of_profile(*pool);
  return pool;
}

std::vector<PoolView> PoolKeeper::list() const {
  std::vector<PoolView> views;
  for (const auto& [name, pool] : parts_.shelf.pools())
    views.push_back(pool->view(parts_.clock.boot()));
  return views;
}

Result<PoolView> PoolKeeper::get(std::string_view name) const {
  TRY(const auto pool, find(name));
  return pool->view(parts_.clock.boot());
}

Result<CreateRequest> PoolKeeper::request_of(std::string_view name) const {
  TRY(const auto pool, find(name));
  return prepare(pool->spec);
}

Task<PoolView> PoolKeeper::create(std::string name, PoolSpec spec) {
  if (parts_.options.pooling == Pooling::off) {
    co_return Error(Code::unsupported, "pools are kept by a daemon, and there is none")
        .with_hint("start one: atoll serve");
  }
  CO_TRY_OK(check_name(name));
  CO_TRY(const auto settings, at_stage("request", policy::settle(spec.size)));
  // What nobody could ever ask for is refused now, and not at every fill.
  CO_TRY(const auto request, prepare(spec));
  CO_TRY_OK(check_create(request, parts_.options));
  if (shape_of(request).empty()) {
    co_return Error(Code::unsupported, "sandboxes like these cannot be made ahead")
        .at_stage("request");
  }
  if (const auto there = parts_.shelf.find(name)) {
    if (there->source == PoolSource::operators && is_same(there->spec, spec))
      co_return there->view(parts_.clock.boot());
    co_return Error(Code::already_exists, "pool " + name + " is there, and differs")
        .with_hint("change its size with PATCH, or remove it first");
  }
  if (parts_.shelf.pools().size() >= kMostPools) {
    co_return Error(Code::resource_exhausted,
                    "there are " + std::to_string(kMostPools) + " pools, which is the limit")
        .with_hint("remove one first");
  }
  const auto pool = std::make_shared<Pool>(name, PoolSource::operators, std::move(spec), settings,
                                           parts_.clock.boot());
  refresh(*pool);
  // The name is taken from now on.
  parts_.shelf.add(pool);
  auto kept = co_await parts_.store.commit(
      {store::Durability::disk, {store::PutPool{{name, json::encode(pool->spec)}}}});
  if (!kept) {
    parts_.shelf.remove(*pool);
    co_return std::move(kept).error().with("keeping pool " + name);
  }
  step();
  co_return pool->view(parts_.clock.boot());
}

Task<PoolView> PoolKeeper::change(std::string name, policy::PoolAsk ask) {
  CO_TRY(const auto pool, find_own(name));
  const policy::PoolAsk size = policy::merge(pool->spec.size, ask);
  CO_TRY(const auto settings, at_stage("request", policy::settle(size)));
  PoolSpec spec = pool->spec;
  spec.size = size;
  auto kept = co_await parts_.store.commit(
      {store::Durability::disk, {store::PutPool{{name, json::encode(spec)}}}});
  if (!kept) co_return std::move(kept).error().with("changing pool " + name);
  pool->spec.size = size;
  pool->demand.change(settings, parts_.clock.boot());
  step();
  co_return pool->view(parts_.clock.boot());
}

Result<PoolView> PoolKeeper::drain(std::string_view name) {
  TRY(const auto pool, find(name));
  ++pool->drains;
  for (const auto& record : std::deque(pool->ready)) end(*pool, record);
  pool->retry_at = Micros(0);
  step();
  return pool->view(parts_.clock.boot());
}

Task<> PoolKeeper::remove(std::string name) {
  CO_TRY(const auto pool, find_own(name));
  // At once, so that nobody changes it meanwhile: that would write its row again.
  parts_.shelf.remove(*pool);
  auto dropped = co_await parts_.store.commit({store::Durability::disk, {store::DropPool{name}}});
  if (!dropped) {
    pool->is_gone = false;
    if (!parts_.shelf.find(name)) parts_.shelf.add(pool);
    co_return std::move(dropped).error().with("removing pool " + name);
  }
  const auto ending = pool->ready;
  for (const auto& record : ending) end(*pool, record);
  for (const auto& record : ending) {
    auto ended = co_await destroyer_.destroy(record, EndReason::asked);
    static_cast<void>(ended);  // the sweeper goes on trying
  }
  co_return Result<>();
}

Result<CreateRequest> PoolKeeper::prepare(const PoolSpec& spec) const {
  CreateRequest request;
  request.profile = spec.profile;
  request.driver = spec.driver;
  request.image = spec.image;
  request.runtime = spec.runtime;
  request.resources = spec.resources;
  request.min_isolation = spec.min_isolation;
  request.placement = spec.placement;
  request.network = spec.network;
  request.persistence = spec.persistence;
  const policy::Profiles& profiles = profiles_of(parts_.options);
  std::string from = spec.template_;
  if (!spec.profile.empty() && spec.profile != policy::kNoProfile) {
    auto known = profiles.get(spec.profile);
    if (!known) return std::move(known).error().with("profile").at_stage("request");
    merge_profile(request, (*known)->profile);
    if (!from.empty() && spec.image.empty()) request.image.clear();
    if (from.empty() && request.image.empty()) from = (*known)->profile.template_.value_or("");
  }
  if (!from.empty()) {
    if (!parts_.options.open_template) {
      return Error(Code::unavailable, "template: templates are kept by a daemon")
          .at_stage("request");
    }
    TRY_OK(parts_.options.open_template(request, from));
  }
  // A profile for single commands may have a pool, too.
  TRY_OK(at_stage("request", settle_profile(request, profiles, Lifecycle::ephemeral)));
  if (request.persistence == Persistence::checkpoint) {
    return Error(
               Code::invalid_argument,
               "persistence: what is made ahead is nobody's, and does not begin with a checkpoint")
        .at_stage("request");
  }
  return request;
}

// What is made now: a template may have become another, or have gone.
void PoolKeeper::refresh(Pool& pool) const {
  const auto request = prepare(pool.spec);
  pool.shape = request ? shape_of(*request) : "";
  pool.print = print_of(pool.shape);
  pool.has_template = request && !request->template_name.empty();
  if (!request) pool.trouble = request.error().message();
}

void PoolKeeper::step() {
  const Micros now = parts_.clock.boot();
  const auto pools = parts_.shelf.pools();
  for (const auto& [name, pool] : pools) {
    if (pool->shape.empty() || pool->has_template) refresh(*pool);
    discard(pool, now);
  }
  for (const auto& [name, pool] : pools) fill(pool, now);
  parts_.shelf.show();
}

void PoolKeeper::discard(const PoolPtr& pool, Micros now) {
  const auto is_wanted = [&](const SandboxRecord& record) {
    const DriverSlot* slot = parts_.drivers.find(record.driver);
    return slot != nullptr && slot->capabilities && record.state == State::running &&
           !is_dead(record) && record.asked.pool_print == pool->print && now < waits_until(record);
  };
  size_t surplus = pool->ready.size();
  const size_t level = pool->demand.level(now);
  for (const auto& record : std::deque(pool->ready)) {
    if (is_wanted(*record) && surplus <= level) continue;
    --surplus;
    // What dies as it waits would be made for ever.
    if (is_dead(*record)) pool->retry_at = now + pause_after(++pool->deaths_in_a_row);
    end(*pool, record);
  }
}

void PoolKeeper::fill(const PoolPtr& pool, Micros now) {
  if (stopping_ || pool->is_gone) return;
  const size_t level = pool->demand.level(now);
  // What is begun may be over before spawn_call() returns.
  while (now >= pool->retry_at && pool->ready.size() + pool->filling < level &&
         pool->filling < kMostFillsPerPool && filling_ < kMostFills &&
         parts_.shelf.parked() + filling_ < parts_.options.most_parked) {
    ++pool->filling;
    ++filling_;
    spawn_call(fills_, fill_one(pool));
  }
}

Task<> PoolKeeper::fill_one(PoolPtr pool) {
  const Micros began = parts_.clock.boot();
  const uint64_t drains = pool->drains;
  auto request = prepare(pool->spec);
  Result<RecordPtr> made = Error(Code::internal, "");
  std::string shape;
  if (request) {
    shape = shape_of(*request);
    Creator::Parking parking{pool->name, print_of(shape),
                             std::chrono::seconds(pool->demand.settings().max_age_s) + kGrace};
    made = co_await creator_.create_for_pool(*std::move(request), std::move(parking));
  } else {
    made = std::move(request).error();
  }
  --pool->filling;
  --filling_;
  if (!made) {
    note_failure(*pool, made.error());
    co_return Result<>();
  }
  const RecordPtr record = *std::move(made);
  const Micros took = parts_.clock.boot() - began;
  note_time(pool->fills, took);
  parts_.metrics.pool_fills.at(record->driver, "ok").add();
  parts_.metrics.pool_fill_duration.at(record->driver).observe(took);
  pool->failures_in_a_row = 0;
  pool->trouble.clear();
  parts_.shelf.park(*pool, record);
  const bool is_late = pool->is_gone || pool->drains != drains || pool->shape != shape;
  const bool ends = stopping_ && ending_ == Ending::end_sandboxes;
  if (is_late || ends) end(*pool, record);
  // More may be missing.
  parts_.shelf.tell();
  co_return Result<>();
}

void PoolKeeper::note_failure(Pool& pool, const Error& why) {
  ++pool.failures;
  pool.trouble = why.message();
  pool.retry_at = parts_.clock.boot() + pause_after(++pool.failures_in_a_row);
  parts_.metrics.pool_fills.at("none", to_string(why.code())).add();
  if (pool.failures_in_a_row == 1) {
    telemetry::log_warn("a pool cannot be filled, it is tried again",
                        {{"pool", pool.name}, {"why", why.message()}});
  }
  parts_.shelf.tell();
}

void PoolKeeper::end(Pool& pool, const RecordPtr& record) {
  parts_.shelf.unpark(pool, record);
  spawn_call(calls_, destroyer_.destroy(record, EndReason::asked));
}

void PoolKeeper::spawn_call(CallCount& count, Task<> call) {
  const auto alive = owner_.lock();
  if (!alive) return;
  count.begin();
  spawn(parts_.executor, std::move(call), [&count, alive](Result<>) { count.end(); });
}

Micros PoolKeeper::next_look(Micros now) const {
  if (parts_.shelf.is_empty()) return kNoPools;
  Micros next = now + kLongestSleep;
  const auto consider = [&](Micros at) {
    if (at > now) next = std::min(next, at);
  };
  for (const auto& [name, pool] : parts_.shelf.pools()) {
    consider(pool->retry_at);
    consider(pool->demand.looks_at());
    if (!pool->ready.empty()) consider(waits_until(*pool->ready.front()));
  }
  return std::max(next - now, kShortestSleep);
}

Task<> PoolKeeper::run() {
  while (!stopping_) {
    has_news_ = false;
    step();
    if (has_news_) continue;
    news_ = std::make_shared<Event>(parts_.executor);
    const auto news = news_;
    const auto most = std::chrono::ceil<Millis>(next_look(parts_.clock.boot()));
    auto waited = co_await news->wait_for(most);
    if (!waited && waited.error().code() == Code::cancelled) break;
  }
  co_return Result<>();
}

void PoolKeeper::stop(Ending ending) {
  stopping_ = true;
  ending_ = ending;
  parts_.shelf.tell();
}

// A setup may take minutes, and what it is for is nobody's.
void PoolKeeper::give_up_fills() {
  for (const auto& record : parts_.sandboxes.all()) {
    const bool is_half_made =
        record->lifecycle == Lifecycle::pooled && record->state == State::starting;
    if (is_half_made && record->handle) spawn_call(calls_, end_half_made(record->handle));
  }
}

Task<> PoolKeeper::end_half_made(std::shared_ptr<Sandbox> handle) {
  co_return co_await handle->destroy();
}

Task<> PoolKeeper::write_down() {
  // What is not there by then has no row, and is destroyed by the next daemon.
  auto filled = co_await fills_.wait_for_none(kPatienceForFills);
  static_cast<void>(filled);
  const auto pools = parts_.shelf.pools();
  for (const auto& [name, pool] : pools) {
    for (const auto& record : std::deque(pool->ready)) {
      auto written = co_await parts_.journal.note(record);
      if (written) continue;
      // The next daemon will find it without a row, and destroy it.
      telemetry::log_warn("a parked sandbox could not be left to the next daemon",
                          {{"sandbox", record->id}, {"why", written.error().message()}});
    }
  }
  co_return Result<>();
}

}  // namespace atl
