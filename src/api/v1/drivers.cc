// GET /v1/drivers: what can make sandboxes here, and what each can do.
#include "api/object_writer.h"
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

Task<> list_drivers(Call& call) {
  std::string json;
  ObjectWriter object(json);
  object.key("drivers") += '[';
  for (const auto& driver : call.engine().drivers()) {
    if (json.back() != '[') json += ',';
    append_driver(json, driver);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
