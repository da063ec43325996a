#include "core/pool_shelf.h"

#include <algorithm>

#include "telemetry/metrics.h"

namespace atl {
namespace {

// What may be handed out: it runs as far as anybody knows, and nobody is about to end it.
bool is_sound(const SandboxRecord& record) {
  return record.state == State::running && record.failure.empty() && !record.destruction &&
         !record.is_doomed && record.handle && record.handle->is_running();
}

// A backend that ends sandboxes by itself counts from when it has made them.
bool lives_long_enough(const SandboxRecord& record, const Capabilities& can,
                       std::chrono::seconds ttl, Micros now) {
  if (!can.max_lifetime_s) return true;
  const std::chrono::seconds most(*can.max_lifetime_s);
  const Micros made_at = record.expires_boot - std::min(record.ttl, most);
  return made_at + most >= now + std::min(ttl, most);
}

double to_ms(Micros time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace

void note_time(PoolTimes& times, Micros took) {
  const double ms = to_ms(std::max(took, Micros(0)));
  times.mean_ms += (ms - times.mean_ms) / static_cast<double>(++times.count);
  times.last_ms = ms;
}

PoolView Pool::view(Micros now) {
  return {.name = name,
          .source = source,
          .spec = spec,
          .settings = demand.settings(),
          .level = demand.level(now),
          .ready = ready.size(),
          .filling = filling,
          .hits = hits,
          .misses = misses,
          .fills = fills,
          .failures = failures,
          .discarded = discarded,
          .trouble = trouble};
}

PoolPtr PoolShelf::find(std::string_view name) const {
  const auto found = pools_.find(std::string(name));
  return found == pools_.end() ? nullptr : found->second;
}

void PoolShelf::add(PoolPtr pool) {
  const std::string name = pool->name;
  pools_[name] = std::move(pool);
}

void PoolShelf::remove(Pool& pool) {
  pool.is_gone = true;
  pools_.erase(pool.name);
}

Taken PoolShelf::take(const std::string& shape, const DriverSlot& by, Isolation isolation,
                      std::chrono::seconds ttl) {
  Taken taken;
  if (shape.empty()) return taken;
  const Micros now = clock_.boot();
  for (const auto& [name, pool] : pools_) {
    if (pool->shape != shape) continue;
    if (!taken.pool) taken.pool = pool;
    const auto fits = [&](const RecordPtr& record) {
      return is_sound(*record) && record->driver == by.driver->name() &&
             record->isolation == isolation &&
             lives_long_enough(*record, *by.capabilities, ttl, now);
    };
    const auto found = std::ranges::find_if(pool->ready, fits);
    if (found == pool->ready.end()) continue;
    const RecordPtr record(std::move(*found));
    taken = {pool, record->id, std::exchange(record->handle, nullptr)};
    pool->ready.erase(found);
    --parked_;
    pool->deaths_in_a_row = 0;
    sandboxes_.forget(record);
    // For whoever still has the record in hand: there is nothing behind it any more.
    record->state = State::destroyed;
    ++record->generation;
    break;
  }
  if (!taken.pool) return taken;
  taken.pool->demand.note_request(now);
  show();
  tell();
  return taken;
}

void PoolShelf::note_hit(Pool& pool, const std::string& driver, Micros took) {
  note_time(pool.hits, took);
  metrics_.pool_requests.at(driver, "hit").add();
  metrics_.pool_wait.at(driver, "hit").observe(took);
}

void PoolShelf::note_miss(Pool& pool, const std::string& driver, Micros took) {
  note_time(pool.misses, took);
  metrics_.pool_requests.at(driver, "miss").add();
  metrics_.pool_wait.at(driver, "miss").observe(took);
}

void PoolShelf::park(Pool& pool, RecordPtr record) {
  pool.ready.push_back(std::move(record));
  ++parked_;
  show();
}

void PoolShelf::unpark(Pool& pool, const RecordPtr& record) {
  parked_ -= std::erase(pool.ready, record);
  ++pool.discarded;
  show();
}

PoolPtr PoolShelf::find_home(const SandboxRecord& record) const {
  const PoolPtr pool = find(record.asked.pool);
  if (!pool || pool->shape.empty() || pool->print != record.asked.pool_print) return nullptr;
  const auto most = static_cast<size_t>(pool->demand.settings().max);
  return pool->ready.size() < most ? pool : nullptr;
}

void PoolShelf::show() {
  size_t filling = 0;
  for (const auto& [name, pool] : pools_) filling += pool->filling;
  metrics_.pool_sandboxes.at("ready").set(static_cast<int64_t>(parked_));
  metrics_.pool_sandboxes.at("filling").set(static_cast<int64_t>(filling));
}

}  // namespace atl
