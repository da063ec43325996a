// What `atoll doctor DRIVER` has found: whether this one works here, and what it lacks.
//
// Kinds that this Atoll has no driver for are known by name, because configuration files may name
// them: they say so, and which parts of the host are ready for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor_report.h"

namespace atl::cli {

struct DriverReport {
  std::string version;
  std::string user;
  std::string name;
  bool is_built = false;
  std::string level;   // what a driver of this kind would give; "" = a vendor's business
  json::Value driver;  // as GET /v1/drivers tells it; null where nobody could be asked
  std::string where;
  std::string trouble;  // why nobody could be asked; "" = somebody was
  std::string hint;
  std::vector<native::HostCheck> checks;  // what this kind needs of the host
  std::string instead;                    // the driver that is taken by default; "" = none
  bool needs_root = false;  // it makes sandboxes of a root file system that it is given
  Tryout tryout;

  // Whether it ran a command; one that cannot be tried need only be there.
  bool is_fit() const;
};

// The name of a driver or kind as this program writes it; none for a word that names neither.
std::optional<std::string> find_driver_kind(const std::string& word,
                                            const std::vector<std::string>& built);

// Of the host's checks those that a driver of this kind needs, in their order.
std::vector<native::HostCheck> checks_for(const std::string& kind,
                                          const std::vector<native::HostCheck>& all);

std::string to_text(const DriverReport& report, Paint paint,
                    std::optional<size_t> columns = std::nullopt);
std::string to_json(const DriverReport& report);

}  // namespace atl::cli
