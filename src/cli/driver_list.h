// The drivers that an engine offers, wherever it is.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/here.h"
#include "cli/program.h"
#include "cli/sandbox_flags.h"

namespace atl::cli {

std::vector<DriverOffer> offers_from(const std::vector<DriverView>& drivers);
Result<std::vector<DriverOffer>> fetch_offers(Client& client);

// Decides how the current directory appears, if it was asked for, and tells the user what they may
// not expect.
Result<> settle_here(const Context& context, SandboxAsked& asked,
                     const std::vector<DriverOffer>& offers);
// The same for an engine in this process, whose drivers are asked only if it matters: that may mean
// to wait for servers of others.
Result<> settle_here(const Context& context, SandboxAsked& asked, LocalEngine& engine);
// The same for a daemon, which takes directories of this host only over its own Unix socket.
Result<> settle_directories(const Context& context, Client& client, SandboxAsked& asked);

}  // namespace atl::cli
