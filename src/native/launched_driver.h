// A driver whose sandboxes are an agent under the launcher: what `local`, `subprocess`, `native`
// and `rootless` have in common.
#pragma once

#include <memory>
#include <string>

#include "driver/driver.h"
#include "native/agent_config.h"
#include "native/launcher_client.h"

namespace atl::native {

struct LaunchedDriverOptions {
  std::string name;
  Confinement confinement = Confinement::process;
  Capabilities capabilities;
  // For Confinement::box: whether it is the launcher with root's rights, or the one without.
  bool rootless = false;
  // And whether a second kernel stands between the commands and the host's; see oci/gatekeeper.h.
  bool sentry = false;
  // How many sandboxes of a kind wait to be taken at most, see parked_boxes.h.
  size_t most_parked = 0;
  // Where files of sandboxes are kept as snapshots (driver/file_snapshots.h); "" = there are none.
  std::string snapshots = {};
};

// What `native` and `rootless` have in common; what cgroups give is asked of the host when probed.
LaunchedDriverOptions box_options(std::string name);

// `launcher` outlives the driver.
std::unique_ptr<Driver> make_launched_driver(asio::any_io_executor executor,
                                             LauncherClient& launcher,
                                             LaunchedDriverOptions options);

}  // namespace atl::native
