// The sweeper: makes the world and the records agree, at start and every now and then.
//
// What a driver has and no record owns is an orphan and is destroyed: at start at once, later when
// it was seen twice in a row, because something that is just being made may not be in a record of
// the moment. What a record says runs and no driver has, has failed. What could not be done before
// is tried again.
#pragma once

#include <map>
#include <set>

#include "core/changer.h"
#include "core/destroyer.h"
#include "core/parts.h"
#include "core/recovery.h"

namespace atl {

class Sweeper final {
 public:
  enum class Orphans : uint8_t { at_once, when_seen_twice };

  Sweeper(Parts& parts, Recovery& recovery, Destroyer& destroyer, Changer& changer);

  Task<> sweep(Orphans orphans);

  // What drivers have made of templates that are gone.
  Task<> forget_templates();

  // The part of it that somebody waits for: drivers that stopped answering, and what they could not
  // do meanwhile.
  Task<> catch_up();

  // Sweeps every EngineOptions::sweep_every until stop(), and catches up sooner while it is behind.
  Task<> run();
  // Something could not be done.
  void wake();
  void stop();

 private:
  // It does not answer, and did, or has sandboxes.
  bool is_missed(const DriverSlot& slot) const;
  bool is_behind() const;
  Task<> take_up_waiting();
  Task<> retry_doomed();
  Task<> compare(DriverSlot& slot, Orphans orphans);
  Task<> destroy_orphan(DriverSlot& slot, std::string id);
  Task<> check_missing(DriverSlot& slot, RecordPtr record);
  void prune();

  Parts& parts_;
  Recovery& recovery_;
  Destroyer& destroyer_;
  Changer& changer_;
  std::map<std::string, std::set<std::string>> suspects_;  // by driver: unknown at the last sweep
  std::optional<Micros> pruned_at_;
  std::shared_ptr<Event> woken_;
  bool is_soon_ = false;  // run() looks again soon
  bool stopping_ = false;
};

}  // namespace atl
