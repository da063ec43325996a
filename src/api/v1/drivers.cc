// GET /v1/drivers: what can make sandboxes here, and what each can do.
#include "api/object_writer.h"
#include "api/v1/driver_wire.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

void append_part(ObjectWriter& object, std::string_view name, const std::optional<int64_t>& most,
                 int64_t used, double unit) {
  if (!most) return;
  object.member(name, static_cast<double>(*most) / unit);
  object.member(std::string(name) + "_now", static_cast<double>(used) / unit);
}

// Each limit with what there is of it now; nothing for a driver that is never full.
void append_capacity(ObjectWriter& outer, const DriverView& driver) {
  const policy::Quota& most = driver.capacity;
  if (most == policy::Quota()) return;
  ObjectWriter object(outer.key("capacity"));
  append_part(object, "sandboxes", most.sandboxes, driver.used.sandboxes, 1);
  append_part(object, "cpus", most.milli_cpus, driver.used.milli_cpus, 1'000);
  append_part(object, "memory_mb", most.memory_mb, driver.used.memory_mb, 1);
  append_part(object, "disk_mb", most.disk_mb, driver.used.disk_mb, 1);
  object.close();
}

void append_driver(std::string& out, const DriverView& driver) {
  ObjectWriter object(out);
  object.member("name", driver.name);
  object.member("summary", driver.summary);
  object.member("available", driver.available);
  if (driver.available) {
    object.member("capabilities", driver.capabilities);
  } else {
    object.member("unavailable_because", driver.unavailable_because);
    if (!driver.hint.empty()) object.member("hint", driver.hint);
  }
  object.member("health", driver.health);
  if (!driver.last_failure.empty()) object.member("last_failure", driver.last_failure);
  object.member("circuit", driver.circuit);
  if (driver.circuit_opens_for.count() > 0) {
    object.member("circuit_opens_for_ms", static_cast<int64_t>(driver.circuit_opens_for.count()));
  }
  if (driver.measured_start_ms) {
    object.member("measured_start_ms", *driver.measured_start_ms);
    object.member("measured_starts", static_cast<int64_t>(driver.measured_starts));
  }
  if (driver.price_per_hour) object.member("price_per_hour", *driver.price_per_hour);
  object.member("weight", driver.weight);
  if (!driver.labels.empty()) object.member("labels", driver.labels);
  append_capacity(object, driver);
  object.close();
}

}  // namespace

std::string encode_drivers(const std::vector<DriverView>& drivers) {
  std::string json = R"({"drivers":[)";
  for (const DriverView& driver : drivers) {
    if (json.back() != '[') json += ',';
    append_driver(json, driver);
  }
  return json + "]}";
}

Task<> list_drivers(Call& call) {
  co_return co_await call.answer(200, encode_drivers(call.engine().drivers()));
}

}  // namespace atl::api::v1
