// An answer for whoever asked for a sandbox, when there will be none.
#pragma once

#include "base/error.h"

namespace atl::guest {

// Waits a moment for the first call on the connection, and answers it with the error.
void refuse_first_call(int socket, const Error& error);

}  // namespace atl::guest
