// RoutePlan: what would become of a request, with the reason for and against every driver. Nothing
// is made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "core/router.h"

namespace atl {

enum class Verdict : uint8_t {
  chosen,    // it is asked first
  fallback,  // it is asked when those before it cannot
  refused,
};
BOOST_DESCRIBE_ENUM(Verdict, chosen, fallback, refused)

struct PlannedDriver {
  std::string driver;
  Verdict verdict = Verdict::refused;
  std::string reason;                  // in words
  std::optional<Isolation> isolation;  // absent if it does not answer, or lacks the runtime
  std::optional<Placement> placement;
  std::optional<DriverCondition> health;  // absent for one that is not configured
  std::optional<double> start_ms;         // measured, else declared
  std::optional<bool> start_measured;     // which of the two
  std::optional<double> price_per_hour;   // US dollars, for what is asked
  std::optional<int64_t> weight;
};
BOOST_DESCRIBE_STRUCT(PlannedDriver, (),
                      (driver, verdict, reason, isolation, placement, health, start_ms,
                       start_measured, price_per_hour, weight))

// What another driver does otherwise than the chosen one, in the words of its capabilities.
struct PlanChange {
  std::string what;
  std::string from;
  std::string to;
};
BOOST_DESCRIBE_STRUCT(PlanChange, (), (what, from, to))

struct RoutePlan {
  std::string profile;  // with its version; "none"
  std::optional<std::string> run_mode;
  policy::Strategy strategy = policy::Strategy::priority;
  bool served = false;  // whether any driver would take it
  std::string problem;  // why not, in words; "" when it would be served
  std::optional<std::string> driver;
  std::optional<Isolation> isolation;  // that the sandbox would have
  std::optional<Isolation> min_isolation;
  Placement placement = Placement::own;  // how far away at most
  Resources resources;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> timeout_ms;   // of each command
  std::vector<PlannedDriver> drivers;  // in the order in which they are asked
  std::optional<std::string> as;
  std::optional<std::vector<PlanChange>> changes;  // with `as`
};
BOOST_DESCRIBE_STRUCT(RoutePlan, (),
                      (profile, run_mode, strategy, served, problem, driver, isolation,
                       min_isolation, placement, resources, ttl_s, timeout_ms, drivers, as,
                       changes))

// `as` is a driver to compare with; "" = none. Code::not_found for an unknown one.
Result<RoutePlan> plan_route(DriverTable& drivers, const CreateRequest& request, RouteWish wish,
                             const std::string& as);

}  // namespace atl
