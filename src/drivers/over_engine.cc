#include "drivers/over_engine.h"

#include "container/engine_driver.h"
#include "drivers/tree_archive.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_over_engine(const Context& context,
                                         const container::Dialect& dialect) {
  auto options = container::options_from_environment(dialect);
  options.on_progress = context.engines.on_progress;
  options.ends_with_us = context.engines.end_with_us;
  options.archive_tree = [executor = context.executor](Fd root) {
    return archive_tree(executor, std::move(root));
  };
  if (!context.engines.directory.empty()) {
    options.directory = context.engines.directory + "/" + std::string(dialect.name);
    options.agent = context.engines.agent;
  }
  return container::make_engine_driver(context.executor, dialect, std::move(options));
}

}  // namespace atl::drivers
