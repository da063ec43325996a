#include "tests/simulation/emission.h"

#include "core/event_log.h"
#include "core/sandbox_record.h"

namespace atl::simulation::emission {
namespace {

struct Liar {
  Mutant mutant = Mutant::none;
  Dice* dice = nullptr;
};

Liar& liar() {
  static Liar one;
  return one;
}

}  // namespace

void begin(Mutant mutant, Dice& dice) { liar() = {mutant, &dice}; }

// EventLog::add() as core defines it, and as everybody calls it: the names are those that the
// linker gives with --wrap.
void add(EventLog* log, const SandboxRecord& record,
         State from) asm("__real__ZN3atl8EventLog3addERKNS_13SandboxRecordENS_5StateE");
void lie_and_add(EventLog* log, const SandboxRecord& record,
                 State from) asm("__wrap__ZN3atl8EventLog3addERKNS_13SandboxRecordENS_5StateE");

void lie_and_add(EventLog* log, const SandboxRecord& record, State from) {
  const auto [mutant, dice] = liar();
  if (mutant == Mutant::engine_hides_a_change && dice->one_in(20)) return;
  add(log, record, from);
}

}  // namespace atl::simulation::emission
