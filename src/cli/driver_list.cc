#include "cli/driver_list.h"

#include "cli/json_view.h"
#include "cli/report.h"

namespace atl::cli {

std::vector<DriverOffer> offers_from(const std::vector<DriverView>& drivers) {
  std::vector<DriverOffer> offers;
  for (const DriverView& driver : drivers) {
    const Capabilities& can = driver.capabilities;
    offers.push_back({.name = driver.name,
                      .available = driver.available,
                      .isolation = can.isolation,
                      .ro = can.host_dir_ro,
                      .rw = can.host_dir_rw,
                      .cow = can.host_dir_cow});
  }
  return offers;
}

Result<std::vector<DriverOffer>> fetch_offers(Client& client) {
  TRY(const std::string text, client.get("/v1/drivers"));
  TRY(const auto answer, parse_answer(text));
  std::vector<DriverOffer> offers;
  for (const json::Value& driver : list_at(answer, "drivers")) {
    const auto isolation = json::find_enum<Isolation>(text_at(driver, "capabilities.isolation"));
    offers.push_back({.name = text_at(driver, "name"),
                      .available = flag_at(driver, "available"),
                      .isolation = isolation.value_or(Isolation::none),
                      .ro = flag_at(driver, "capabilities.host_dir_ro"),
                      .rw = flag_at(driver, "capabilities.host_dir_rw"),
                      .cow = flag_at(driver, "capabilities.host_dir_cow")});
  }
  return offers;
}

Result<> settle_here(const Context& context, SandboxAsked& asked,
                     const std::vector<DriverOffer>& offers) {
  if (!asked.here) return {};
  TRY(const HereChoice choice, choose_here(*asked.here, asked.request, offers));
  if (!choice.notice.empty() && !context.quiet()) tell("atoll: " + choice.notice);
  return add_here(asked.request, choice.access);
}

Result<> settle_here(const Context& context, SandboxAsked& asked, LocalEngine& engine) {
  if (!asked.here) return {};
  return settle_here(context, asked, offers_from(engine.drivers()));
}

Result<> settle_directories(const Context& context, Client& client, SandboxAsked& asked) {
  if (!asked.here && !asked.request.host_dirs && !asked.request.rootfs) return {};
  if (!client.is_local()) {
    return Error(Code::permission_denied,
                 "directories of this host are shown only by a daemon on its own Unix socket")
        .with_hint("copy the files instead: atoll cp PATH BOX:PATH");
  }
  if (!asked.here) return {};
  TRY(const auto offers, fetch_offers(client));
  return settle_here(context, asked, offers);
}

}  // namespace atl::cli
