// The daemon itself: is it there, is it ready, what does it count, which version is it, and its
// end.
#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "telemetry/metrics.h"

namespace atl::api::v1 {
namespace {

enum class WireEnding : uint8_t { leave, end };
BOOST_DESCRIBE_ENUM(WireEnding, leave, end)

struct WireShutdown {
  static constexpr std::string_view kSchema = "Shutdown";
  WireEnding sandboxes = WireEnding::leave;
};
BOOST_DESCRIBE_STRUCT(WireShutdown, (), (sandboxes))

constexpr openapi::Field kShutdownFields[] = {
    {"sandboxes", "Leave them to the next daemon, or end them."},
};

}  // namespace

void describe_daemon_requests(openapi::Schemas& schemas) {
  schemas.add<WireShutdown, kShutdownFields>();
}

Task<> healthz(Call& call) { co_return co_await call.answer(200, R"({"status":"ok"})"); }

Task<> readyz(Call& call) {
  if (call.options().readiness) CO_TRY_OK(call.options().readiness());
  co_return co_await call.answer(200, R"({"status":"ready"})");
}

Task<> metrics(Call& call) {
  if (call.options().connections) {
    const auto open = static_cast<int64_t>(call.options().connections());
    call.metrics().open_connections.at().set(open);
  }
  const auto lengths = call.engine().queue_lengths();
  const auto set_length = [&](std::string_view queue, size_t length) {
    call.metrics().queue_length.at(queue).set(static_cast<int64_t>(length));
  };
  set_length("calls", lengths.calls);
  set_length("turns", lengths.turns);
  set_length("admission", lengths.admission);
  set_length("cleanup", lengths.cleanup);
  set_length("store", lengths.store);
  const auto set_health = [&](std::string_view health, size_t count) {
    call.metrics().unhealthy.at(health).set(static_cast<int64_t>(count));
  };
  set_health("unresponsive", lengths.unresponsive);
  set_health("recovering", lengths.recovering);
  set_health("failed", lengths.failed);
  for (const auto& [driver, counts] : call.engine().made_ahead()) {
    call.metrics().parked_requests.at(driver, "hit").raise_to(counts.hits);
    call.metrics().parked_requests.at(driver, "miss").raise_to(counts.misses);
    call.metrics().parked_sandboxes.at(driver).set(static_cast<int64_t>(counts.parked));
  }
  if (call.options().spans_to_export) set_length("export", call.options().spans_to_export());
  net::Response response;
  response.headers = call.headers(telemetry::kMetricsContentType);
  response.body = call.metrics().render();
  co_return co_await call.answer_with(std::move(response));
}

Task<> version(Call& call) {
  std::string json;
  ObjectWriter object(json);
  object.member("version", call.options().version);
  object.member("api", std::string_view("v1"));
  object.member("instance_id", call.engine().instance_id());
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> shut_down(Call& call) {
  CO_TRY(const auto wire, co_await read_json<WireShutdown>(call, kMostJson));
  if (!call.options().on_shutdown) {
    co_return Error(Code::permission_denied, "this daemon is not stopped over its API");
  }
  call.exchange().close_after();
  auto answered = co_await call.answer(202, R"({"status":"shutting down"})");
  // Also when the client did not wait for the answer: it has asked.
  call.options().on_shutdown(wire.sandboxes == WireEnding::end ? Ending::end_sandboxes
                                                               : Ending::leave_sandboxes);
  co_return answered;
}

}  // namespace atl::api::v1
