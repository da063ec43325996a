// A driver whose host is at the other end of a link: every call of it, and of its sandboxes, goes
// over that. What a host tells while the link is cut nobody hears.
#pragma once

#include <memory>

#include "driver/fake_driver.h"
#include "tests/simulation/link.h"

namespace atl::simulation {

// The link outlives it. What an earlier daemon has left on its way arrives on `executor`.
std::unique_ptr<Driver> make_linked_driver(std::shared_ptr<FakeHost> host, Link& link,
                                           const asio::any_io_executor& executor);

}  // namespace atl::simulation
