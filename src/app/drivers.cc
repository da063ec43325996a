#include "app/drivers.h"

#include "native/launcher_client.h"

namespace atl::app {

std::vector<EngineDriver> make_drivers(const asio::any_io_executor& executor,
                                       native::LauncherClient& launcher, size_t most_parked,
                                       drivers::Engines engines) {
  const drivers::Context context{executor, &launcher, most_parked, std::move(engines)};
  std::vector<EngineDriver> made;
  for (const drivers::Entry& entry : drivers::all()) {
    made.push_back({entry.make(context), std::string(entry.summary)});
  }
  return made;
}

drivers::Engines engines_of(const native::LauncherClient& embedded, const std::string& libexec) {
  return {.directory = embedded.run_path() + "/engines",
          .agent = libexec + "/atoll-agent",
          .end_with_us = true};
}

}  // namespace atl::app
