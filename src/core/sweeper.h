// The sweeper: makes the world and the records agree, at start and every now and then.
//
// What a driver has and no record owns is an orphan and is destroyed: at start at once, later when
// it was seen twice in a row, because something that is just being made may not be in a record of
// the moment. What a record says runs and no driver has, has failed. What could not be done before
// is tried again.
//
// Each driver has its turn beside the others, and one whose last turn is not over yet is left out:
// a driver that hangs holds up nobody else.
#pragma once

#include <map>
#include <set>

#include "core/changer.h"
#include "core/destroyer.h"
#include "core/lanes.h"
#include "core/parts.h"
#include "core/recovery.h"

namespace atl {

class Sweeper final {
 public:
  enum class Orphans : uint8_t { at_once, when_seen_twice };

  // How long whoever sweeps waits for drivers; those that take longer go on.
  static constexpr Millis kPatience = std::chrono::seconds(10);

  Sweeper(Parts& parts, Recovery& recovery, Destroyer& destroyer, Changer& changer);

  // What it begins holds on to this; called before anything else.
  void set_owner(const std::weak_ptr<void>& owner);

  // The first sweep comes before anybody is served; `at_once` holds for that one alone.
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
  // Each of its own, in the table as it is now.
  std::vector<RecordPtr> records_of(const DriverSlot& slot) const;
  Task<> sweep_driver(DriverSlot& slot, Orphans orphans);
  Task<> catch_up_driver(DriverSlot& slot);
  Task<> take_up_waiting(DriverSlot& slot);
  Task<> take_up(RecordPtr record);
  // How long a driver's turn waits for its sandboxes.
  Millis patience() const;
  Task<> retry_doomed(DriverSlot& slot);
  Task<> retry_doomed_one(DriverSlot& slot, RecordPtr record);
  Task<> forget_templates_of(DriverSlot& slot);
  Task<> compare(DriverSlot& slot, Orphans orphans);
  Task<> destroy_orphan(DriverSlot& slot, std::string id);
  Task<> check_missing(DriverSlot& slot, RecordPtr record);
  void prune();

  Parts& parts_;
  Recovery& recovery_;
  Destroyer& destroyer_;
  Changer& changer_;
  Lanes drivers_;    // one turn each
  Lanes sandboxes_;  // what such a turn does with several
  bool is_serving_ = false;
  std::map<std::string, std::set<std::string>> suspects_;  // by driver: unknown at the last sweep
  std::optional<Micros> pruned_at_;
  std::shared_ptr<Event> woken_;
  bool is_soon_ = false;  // run() looks again soon
  bool stopping_ = false;
};

}  // namespace atl
