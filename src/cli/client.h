// The daemon that a command line talks to, through client/client.h.
#pragma once

#include <memory>

#include "cli/target.h"
#include "cli/verb.h"
#include "client/client.h"

namespace atl::cli {

using client::Client;
using client::sandbox_path;

// Code::unavailable when no daemon is there.
Result<std::unique_ptr<Client>> open_client(Context& context);
Result<std::unique_ptr<Client>> connect_client(Context& context, const Target& target);

}  // namespace atl::cli
