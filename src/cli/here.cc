#include "cli/here.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/args.h"
#include "config/run_modes.h"
#include "json/describe.h"

namespace atl::cli {
namespace {

bool offers(const DriverOffer& driver, HostAccess access) {
  switch (access) {
    case HostAccess::cow:
      return driver.cow;
    case HostAccess::ro:
      return driver.ro;
    case HostAccess::rw:
      return driver.rw;
  }
  return false;
}

// The router takes a driver without isolation only by name.
bool may_serve(const DriverOffer& driver, const WireCreate& request) {
  if (!driver.available) return false;
  if (request.min_isolation && driver.isolation < *request.min_isolation) return false;
  if (request.driver) return driver.name == *request.driver;
  const auto mode = config::find_run_mode(request.run_mode.value_or("auto"));
  if (mode && !mode->drivers.empty()) {
    return std::ranges::find(mode->drivers, driver.name) != mode->drivers.end();
  }
  return driver.isolation > Isolation::none;
}

std::string describe_access(HostAccess access) {
  switch (access) {
    case HostAccess::cow:
      return "copy-on-write";
    case HostAccess::ro:
      return "read-only";
    case HostAccess::rw:
      return "writable";
  }
  return "";
}

Error lacking(HostAccess access, const WireCreate& request,
              const std::vector<DriverOffer>& drivers) {
  std::string can;
  for (const DriverOffer& driver : drivers) {
    if (!driver.available || !offers(driver, access)) continue;
    can += (can.empty() ? "" : ", ") + driver.name;
  }
  const std::string who =
      request.driver ? "the driver " + to_printable(*request.driver) : "no driver here";
  const std::string verb = request.driver ? "cannot" : "can";
  Error error(Code::unsupported, fmt::format("{} {} show the current directory {}", who, verb,
                                             describe_access(access)));
  if (can.empty()) {
    return std::move(error).with_hint(
        "no driver on this host can; --here=ro and --here=rw are the other ways");
  }
  return std::move(error).with_hint(fmt::format("drivers that can: {}", can));
}

}  // namespace

Result<Here> parse_here(std::string_view text) {
  if (text == "auto") return Here::automatic;
  if (text == "cow") return Here::cow;
  if (text == "ro") return Here::ro;
  if (text == "rw") return Here::rw;
  return usage_error(fmt::format("--here: '{}' is none of cow, ro, rw", to_printable(text)));
}

Result<HereChoice> choose_here(Here here, const WireCreate& request,
                               const std::vector<DriverOffer>& drivers) {
  if (here != Here::automatic) {
    const HostAccess access = here == Here::cow  ? HostAccess::cow
                              : here == Here::ro ? HostAccess::ro
                                                 : HostAccess::rw;
    bool anybody = false;
    for (const DriverOffer& driver : drivers) {
      if (!may_serve(driver, request)) continue;
      if (offers(driver, access)) return HereChoice{access, ""};
      anybody = true;
    }
    // With nobody to serve the request at all the router explains better than we can.
    if (!anybody) return HereChoice{access, ""};
    return lacking(access, request, drivers);
  }

  const DriverOffer* first = nullptr;
  for (const DriverOffer& driver : drivers) {
    if (!may_serve(driver, request)) continue;
    if (first == nullptr) first = &driver;
    if (driver.cow) return HereChoice{HostAccess::cow, ""};
    if (driver.ro) {
      return HereChoice{
          HostAccess::ro,
          fmt::format("{} cannot copy on write: the current directory is read-only in "
                      "the sandbox (--here=rw lets it write)",
                      driver.name)};
    }
  }
  if (first == nullptr) return HereChoice{HostAccess::cow, ""};
  Error error = lacking(HostAccess::ro, request, drivers);
  if (!first->rw) return error;
  return Error(Code::unsupported, error.message())
      .with_hint("--here=rw lets the command write into your files");
}

Result<> add_here(WireCreate& request, HostAccess access) {
  std::error_code trouble;
  const auto path = std::filesystem::current_path(trouble);
  if (trouble) return os_error_from(trouble.value(), "the current directory");
  if (!request.host_dirs) request.host_dirs.emplace();
  WireHostDir dir{.path = path.string(), .access = access, .workspace = true};
  request.host_dirs->push_back(std::move(dir));
  return {};
}

}  // namespace atl::cli
