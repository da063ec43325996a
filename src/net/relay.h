// Joins two streams: what one sends the other gets, until both have ended or one is gone.
#pragma once

#include <string>

#include "net/byte_stream.h"

namespace atl::net {

// `first` goes to `left` before all that `right` sends. Both are closed when it returns.
Task<> relay(StreamPtr left, StreamPtr right, std::string first);

}  // namespace atl::net
