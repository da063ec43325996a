// Emission: what the engine tells its event log of changes, where a mutant can come between.
//
// The linker lets EventLog::add() of this program be called through here; see CMakeLists.txt.
#pragma once

#include "tests/simulation/dice.h"
#include "tests/simulation/mutant.h"

namespace atl::simulation::emission {

// For the life that begins. The dice outlive it.
void begin(Mutant mutant, Dice& dice);

}  // namespace atl::simulation::emission
