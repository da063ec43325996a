// Signals as something to read, for programs that live on a poller.
#pragma once

#include <span>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

// Blocks these, and ignores SIGPIPE: the descriptor, which never blocks, tells of them from now on.
Result<Fd> take_signals(std::span<const int> numbers);

}  // namespace atl::os
