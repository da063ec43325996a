// A driver whose host is at the other end of a link: every call of it, and of its sandboxes, goes
// over that. What a host tells while the link is cut nobody hears.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "driver/fake_driver.h"
#include "tests/simulation/link.h"

namespace atl::simulation {

// Called when the engine asks for a sandbox of this id, or for a child; and with what a probe has
// found, which the engine hears next.
struct Watch {
  std::function<void(const std::string& id)> on_create;
  std::function<void(const std::string& parent, const std::string& id)> on_fork;
  std::function<void(Capabilities& found)> on_probed;
};

// The link outlives it. What an earlier daemon has left on its way arrives on `executor`.
std::unique_ptr<Driver> make_linked_driver(std::shared_ptr<FakeHost> host, Link& link, Watch watch,
                                           const asio::any_io_executor& executor);

}  // namespace atl::simulation
