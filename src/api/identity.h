// Who makes a request, and what that allows.
#pragma once

#include <string>

#include "core/engine.h"

namespace atl::api {

// What a route asks of whoever calls it.
enum class Access : uint8_t {
  open,   // anybody
  key,    // any valid key, or the trusted socket
  admin,  // a key of an administrator, or the trusted socket
};

enum class Rank : uint8_t { nobody, user, admin };

// Whether the caller sits at the daemon's own Unix socket with the daemon's own uid (or root's), so that opening a
// directory of the host on its behalf gives it nothing that it could not open itself.
enum class Seat : uint8_t { remote, local };

struct Identity {
  Caller caller;
  Rank rank = Rank::nobody;
  Seat seat = Seat::remote;
};

}  // namespace atl::api
