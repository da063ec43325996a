// How far an image is that is fetched for a run, on a line of the terminal that goes when it is
// there.
#pragma once

#include "driver/progress.h"

namespace atl::app {

// Empty when stderr is no terminal.
ProgressListener pull_line();

}  // namespace atl::app
