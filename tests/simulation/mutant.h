// Mutants: lies that are planted on purpose, to see that the checker notices them.
//
// Each breaks one invariant, at a place where a real mistake would: the store, a driver, the log,
// what the engine is told, or what it tells (emission.h). They are kept, because a simulation that
// finds nothing proves nothing unless it can find something.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/describe/enum.hpp>

namespace atl::simulation {

enum class Mutant : uint8_t {
  none,
  // I1: nothing that was acknowledged is lost.
  store_forgets_a_sandbox,  // a commit is acknowledged, and its row is not written
  box_loses_files_on_attach,
  // I2: what there is, is what the engine says.
  destroy_leaves_the_box,  // and the driver no longer lists it
  create_leaves_another,   // the same
  // I3: a sandbox is in one legal state, and runs at most once.
  create_makes_it_twice,
  resume_leaves_it_ended,
  store_keeps_it_parked,  // what was handed out is in its pool again for the next daemon
  // I4: every acknowledged change is in the log, once and in order.
  log_drops_an_event,
  log_swaps_two_events,
  log_tells_it_twice,     // the engine's own, and not what is read of it
  engine_hides_a_change,  // its log never hears of it
  // I5: a request that is repeated with its key has one effect.
  store_forgets_a_key,
  key_is_of_another_request,
  hash_knows_no_body,  // so another request with the key counts as the same
  key_knows_no_boot,   // so it expires by the wall's clock once the daemon was started again
  // I6: what rests comes back when it is used.
  resume_leaves_it_still,  // and says that it runs
  store_forgets_why_it_rests,
  // I7: a sandbox is held by the sessions that are open, and by nobody else.
  store_forgets_a_session,
  store_keeps_a_session,  // that was closed
  session_knows_no_boot,  // so it ends by the wall's clock, as the key above
  // I8: what a tenant has never exceeds its quota.
  store_forgets_whose_it_is,
  admission_knows_no_quota,
  // Nothing runs below the floor or outside the placement that was asked for it.
  wish_loses_its_floor,  // so the router never hears of it
  driver_overstates_isolation,
  create_lands_on_a_weaker_host,  // as a driver would do that falls back by itself
  wish_loses_its_placement,       // the same of the distance
  driver_understates_distance,
  create_lands_on_a_farther_host,
};
BOOST_DESCRIBE_ENUM(Mutant, none, store_forgets_a_sandbox, box_loses_files_on_attach,
                    destroy_leaves_the_box, create_leaves_another, create_makes_it_twice,
                    resume_leaves_it_ended, store_keeps_it_parked, log_drops_an_event,
                    log_swaps_two_events, log_tells_it_twice, engine_hides_a_change,
                    store_forgets_a_key, key_is_of_another_request, hash_knows_no_body,
                    key_knows_no_boot, resume_leaves_it_still, store_forgets_why_it_rests,
                    store_forgets_a_session, store_keeps_a_session, session_knows_no_boot,
                    store_forgets_whose_it_is, admission_knows_no_quota, wish_loses_its_floor,
                    driver_overstates_isolation, create_lands_on_a_weaker_host,
                    wish_loses_its_placement, driver_understates_distance,
                    create_lands_on_a_farther_host)

// What an accusation begins with when the mutant is caught for what it is.
constexpr std::string_view invariant_of(Mutant mutant) {
  switch (mutant) {
    case Mutant::none:
      return "";
    case Mutant::store_forgets_a_sandbox:
    case Mutant::box_loses_files_on_attach:
      return "I1:";
    case Mutant::destroy_leaves_the_box:
    case Mutant::create_leaves_another:
      return "I2:";
    case Mutant::create_makes_it_twice:
    case Mutant::resume_leaves_it_ended:
    case Mutant::store_keeps_it_parked:
      return "I3:";
    case Mutant::log_drops_an_event:
    case Mutant::log_swaps_two_events:
    case Mutant::log_tells_it_twice:
    case Mutant::engine_hides_a_change:
      return "I4:";
    case Mutant::store_forgets_a_key:
    case Mutant::key_is_of_another_request:
    case Mutant::hash_knows_no_body:
    case Mutant::key_knows_no_boot:
      return "I5:";
    case Mutant::resume_leaves_it_still:
    case Mutant::store_forgets_why_it_rests:
      return "I6:";
    case Mutant::store_forgets_a_session:
    case Mutant::store_keeps_a_session:
    case Mutant::session_knows_no_boot:
      return "I7:";
    case Mutant::store_forgets_whose_it_is:
    case Mutant::admission_knows_no_quota:
      return "I8:";
    case Mutant::wish_loses_its_floor:
    case Mutant::driver_overstates_isolation:
    case Mutant::create_lands_on_a_weaker_host:
      return "floor:";
    case Mutant::wish_loses_its_placement:
    case Mutant::driver_understates_distance:
    case Mutant::create_lands_on_a_farther_host:
      return "placement:";
  }
  return "";
}

}  // namespace atl::simulation
