// The shelf: all pools, and the sandboxes in them that wait to be somebody's.
//
// A parked sandbox is a record in the table like any other, with Lifecycle::pooled and no tenant:
// nobody but an administrator sees it, nobody can do anything in it, and no quota counts it. It has
// no row in the store. So whatever a daemon that was killed had parked is nobody's for the next
// one, which destroys it as it does with everything that no row tells of: nothing is handed out
// twice and nothing is left. Only a daemon that ends in order writes rows, for the next one
// (pool_keeper.h).
//
// take() turns it into somebody's: the record goes, its handle and its id live on in the record of
// the request. From then on it is a sandbox that was just made and is not committed yet, and what
// happens to those at a crash happens to it.
//
// Lives on the core loop and never waits.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "core/driver_table.h"
#include "core/pool_demand.h"
#include "core/pool_view.h"
#include "core/sandbox_table.h"

namespace atl {

struct Pool {
  Pool(std::string called, PoolSource of, PoolSpec like, policy::PoolSettings settings, Micros now)
      : name(std::move(called)), source(of), spec(std::move(like)), demand(settings, now) {}

  PoolView view(Micros now);

  const std::string name;
  const PoolSource source;
  PoolSpec spec;
  PoolDemand demand;
  std::string shape;            // of what is being made now; "" while nobody can say
  std::string print;            // of the shape
  bool has_template = false;    // which may become another
  std::deque<RecordPtr> ready;  // oldest first
  size_t filling = 0;
  bool is_gone = false;  // was removed; whoever still fills it stops
  uint64_t drains = 0;   // what was begun before the last one is not kept
  Micros retry_at{0};    // after a failure
  unsigned failures_in_a_row = 0;
  unsigned deaths_in_a_row = 0;  // of parked ones, since somebody got one
  std::string trouble;
  PoolTimes hits, misses, fills;
  uint64_t failures = 0;
  uint64_t discarded = 0;
};
using PoolPtr = std::shared_ptr<Pool>;

void note_time(PoolTimes& times, Micros took);

// What a request has found on the shelf.
struct Taken {
  PoolPtr pool;                     // that it fits; null = none
  std::string id;                   // "" = the pool had none ready
  std::shared_ptr<Sandbox> handle;  // null = the same
};

class PoolShelf final {
 public:
  PoolShelf(SandboxTable& sandboxes, telemetry::Metrics& metrics, const Clock& clock)
      : sandboxes_(sandboxes), metrics_(metrics), clock_(clock) {}

  bool is_empty() const { return pools_.empty(); }
  const std::map<std::string, PoolPtr>& pools() const { return pools_; }
  PoolPtr find(std::string_view name) const;
  void add(PoolPtr pool);
  void remove(Pool& pool);

  // In all pools.
  size_t parked() const { return parked_; }

  // One for a sandbox of this shape that would be made by `by` and live for `ttl`. It is running,
  // has not been anybody's, and is as isolated as one that `by` would make now.
  Taken take(const std::string& shape, const DriverSlot& by, Isolation isolation,
             std::chrono::seconds ttl);
  // Whoever took it has it, after so long.
  void note_hit(Pool& pool, const std::string& driver, Micros took);
  void note_miss(Pool& pool, const std::string& driver, Micros took);

  void park(Pool& pool, RecordPtr record);
  // Out of the pool, not out of the table: somebody is about to end it.
  void unpark(Pool& pool, const RecordPtr& record);
  // Whether a sandbox that an earlier daemon parked belongs to a pool of now.
  PoolPtr find_home(const SandboxRecord& record) const;

  // Something has changed that a pool may have to do something about.
  void set_on_news(std::function<void()> on_news) { on_news_ = std::move(on_news); }
  void tell() {
    if (on_news_) on_news_();
  }
  void show();  // in the metrics

 private:
  SandboxTable& sandboxes_;
  telemetry::Metrics& metrics_;
  const Clock& clock_;
  std::map<std::string, PoolPtr> pools_;
  size_t parked_ = 0;
  std::function<void()> on_news_;
};

}  // namespace atl
