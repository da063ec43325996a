// The keeper: has pools, fills them, and ends what is in them too long.
//
// It fills in the background, a few sandboxes at a time, and waits longer after each failure in a
// row. What is too old, too many, dead, of another shape than is made now, or with a driver that
// does not answer is ended; that driver's answer is awaited by the sweeper, as with every sandbox
// that could not be destroyed.
//
// Pools are of two kinds. A profile that has `pool` has one of its name for as long as the profile
// is there; others are made over the API, and the store keeps them.
#pragma once

#include "core/creator.h"
#include "core/destroyer.h"
#include "core/detached.h"
#include "core/parts.h"
#include "core/pool_view.h"

namespace atl {

class PoolKeeper final {
 public:
  static constexpr size_t kMostFills = 4;         // at a time, in all
  static constexpr size_t kMostFillsPerPool = 2;  // so that one pool does not keep others waiting
  static constexpr Micros kFirstPause = std::chrono::seconds(1);
  static constexpr Micros kLongestPause = std::chrono::seconds(60);

  PoolKeeper(Parts& parts, Creator& creator, Destroyer& destroyer, CallCount& calls);

  // What it begins holds on to this; called before anything else.
  void set_owner(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  // The pools of profiles, and those of the store.
  void load(const std::vector<store::PoolRow>& rows);

  std::vector<PoolView> list() const;
  Result<PoolView> get(std::string_view name) const;
  // Code::already_exists for a name that is taken, unless it is the same pool.
  Task<PoolView> create(std::string name, PoolSpec spec);
  // Of its size; a pool of a profile is changed in the profile.
  Task<PoolView> change(std::string name, policy::PoolAsk ask);
  // What is parked now is ended, and the pool filled anew.
  Result<PoolView> drain(std::string_view name);
  Task<> remove(std::string name);
  // What a request for a sandbox of the pool says.
  Result<CreateRequest> request_of(std::string_view name) const;

  // Ends what is to be ended, and begins to make what is missing.
  void step();
  // Steps at the right moments until stop().
  Task<> run();
  // Nothing is made any more; what is being made is kept, or ended when it is there.
  void stop(Ending ending);
  // After stop(): what is being set up is ended.
  void give_up_fills();
  // After stop(): for the daemon that comes next.
  Task<> write_down();

 private:
  Result<PoolPtr> find(std::string_view name) const;
  Result<PoolPtr> find_own(std::string_view name) const;
  Result<CreateRequest> prepare(const PoolSpec& spec) const;
  void refresh(Pool& pool) const;
  void discard(const PoolPtr& pool, Micros now);
  void fill(const PoolPtr& pool, Micros now);
  Task<> fill_one(PoolPtr pool);
  void note_failure(Pool& pool, const Error& why);
  void end(Pool& pool, const RecordPtr& record);
  void spawn_call(CallCount& count, Task<> call);
  static Task<> end_half_made(std::shared_ptr<Sandbox> handle);
  Micros next_look(Micros now) const;

  Parts& parts_;
  Creator& creator_;
  Destroyer& destroyer_;
  CallCount& calls_;
  CallCount fills_;  // apart: nobody waits for them
  std::weak_ptr<void> owner_;
  size_t filling_ = 0;
  std::shared_ptr<Event> news_;
  bool has_news_ = false;
  bool stopping_ = false;
  Ending ending_ = Ending::leave_sandboxes;
};

}  // namespace atl
