#include "app/drivers.h"

#include "drivers/registry.h"

namespace atl::app {

std::vector<EngineDriver> make_drivers(const asio::any_io_executor& executor,
                                       native::LauncherClient& launcher, size_t most_parked) {
  const drivers::Context context{executor, &launcher, most_parked};
  std::vector<EngineDriver> made;
  for (const drivers::Entry& entry : drivers::all()) {
    made.push_back({entry.make(context), std::string(entry.summary)});
  }
  return made;
}

}  // namespace atl::app
