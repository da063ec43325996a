// What `atoll doctor` has found, as people and as programs read it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"
#include "json/value.h"
#include "native/host_verdicts.h"

namespace atl::cli {

// Whether the driver that is taken by default really ran a command.
struct Tryout {
  bool ran = false;
  double ms = 0;
  std::string trouble;
  std::string hint;
};
void append_tryout(std::string& json, const Tryout& tryout);

struct DoctorReport {
  std::string version;
  std::string user;  // "root", or "user 1000"
  std::vector<native::HostCheck> checks;
  json::Array drivers;  // as GET /v1/drivers tells them
  std::string where;    // whose they are
  std::string trouble;  // why nobody could be asked for drivers; "" = somebody was
  std::string hint;
  std::string default_driver;  // "" = none can be taken
  Tryout tryout;

  bool is_fit() const { return !default_driver.empty() && tryout.ran; }
};

// The driver that is taken when none is named: the first that answers and isolates. "" = none.
std::string find_default_driver(const json::Array& drivers);

// On a terminal of so many columns lines are broken.
std::string to_text(const DoctorReport& report, Paint paint,
                    std::optional<size_t> columns = std::nullopt);
std::string to_json(const DoctorReport& report);

}  // namespace atl::cli
