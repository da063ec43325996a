#include "app/drivers.h"

#include "drivers/extension/extension_driver.h"
#include "native/launcher_client.h"
#include "telemetry/log.h"

namespace atl::app {

std::vector<EngineDriver> make_drivers(const asio::any_io_executor& executor,
                                       native::LauncherClient& launcher, size_t most_parked,
                                       drivers::Engines engines,
                                       std::vector<extension::Grant> extensions) {
  const drivers::Context context{executor, &launcher, most_parked, std::move(engines)};
  std::vector<EngineDriver> made;
  for (const drivers::Entry& entry : drivers::all()) {
    made.push_back({entry.make(context), std::string(entry.summary)});
  }
  for (auto& grant : extensions) {
    const drivers::Engines& around = context.engines;
    extension::ExtensionOptions options{.grant = std::move(grant),
                                        .identity = "",
                                        .agent = around.agent,
                                        .ends_with_us = around.end_with_us};
    const extension::Manifest& manifest = options.grant.manifest;
    if (!around.directory.empty())
      options.identity = around.directory + "/extension-" + manifest.name;
    std::string summary = manifest.summary + " (extension)";
    made.push_back(
        {extension::make_extension_driver(executor, std::move(options)), std::move(summary)});
  }
  return made;
}

std::vector<extension::Grant> find_extensions(const std::string& state_directory) {
  auto read = extension::read_grants(state_directory, drivers::reserved_names());
  for (const Error& why : read.unreadable) {
    telemetry::log_warn("an extension is left out", {{"why", why.message()}});
  }
  return std::move(read.grants);
}

drivers::Engines engines_of(const native::LauncherClient& embedded, const std::string& libexec) {
  return {.directory = embedded.run_path() + "/engines",
          .agent = libexec + "/atoll-agent",
          .end_with_us = true};
}

}  // namespace atl::app
