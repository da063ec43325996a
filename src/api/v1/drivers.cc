// GET /v1/drivers: what can make sandboxes here, and what each can do.
#include "api/object_writer.h"
#include "api/v1/driver_wire.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

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
