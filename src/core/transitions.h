// Which states of a sandbox may follow which: the one table.
#pragma once

#include "core/engine.h"

namespace atl {

bool is_legal(State from, State to);

}  // namespace atl
