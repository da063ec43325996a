// The table of drivers. Adding one is a folder, a line in registry.cc, a line in CMakeLists.txt and
// a green conformance run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"

namespace atl::native {
class LauncherClient;
}

namespace atl::drivers {

// For drivers whose sandboxes somebody else's engine makes, on this host.
struct Engines {
  std::string directory = {};  // of ours alone, for what their sandboxes are shown; "" = none
  std::string agent = {};      // atoll-agent
  bool end_with_us = false;    // sandboxes do not outlive this process
  ProgressListener on_progress = {};  // told while an image is fetched
};

// What drivers are made from; everything outlives them.
struct Context {
  asio::any_io_executor executor;
  native::LauncherClient* launcher = nullptr;
  size_t most_parked = 0;  // sandboxes of a kind that are made before anybody asks
  Engines engines = {};
};

struct Entry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Driver> (*make)(const Context& context);
};

// In order of preference.
std::span<const Entry> all();

// What no extension can be called: these, and what configuration files call kinds of sandboxes.
std::vector<std::string> reserved_names();

}  // namespace atl::drivers
