// POST /v1/sandboxes/{id}/exec: a command in a sandbox that is there.
#include "api/body.h"
#include "api/v1/follow.h"
#include "api/v1/handlers.h"
#include "telemetry/metrics.h"

namespace atl::api::v1 {

Task<> exec(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireExec>(call, kMostExecJson));
  CO_TRY(auto plan, to_plan(std::move(wire)));
  CO_TRY(const auto on_disconnect, read_on_disconnect(call.request()));
  CO_TRY(const auto view, call.engine().get(call.caller(), call.sandbox()));
  CO_TRY(auto lease, call.engine().guest(call.caller(), view.id));
  CO_TRY(auto request, call.engine().complete(call.caller(), view.id, std::move(plan.request)));
  auto started = co_await lease->start(std::move(request));
  if (!started) co_return std::move(started).error().at_stage("exec");

  const auto sink = make_sink(call, find_reply(call.request()), plan.keep);
  Followed followed{std::move(lease), *std::move(started), on_disconnect,
                    std::move(plan.stdin_bytes), plan.after_stdin};
  auto status = co_await follow(call, std::move(followed), *sink);
  if (!status) co_return co_await sink->fail(std::move(status).error().at_stage("exec"));
  call.metrics().execs.at(view.driver, json::name_of(status->reason)).add();
  call.metrics().exec_duration.at(view.driver).observe(status->duration);
  co_return co_await sink->end(*status, std::nullopt);
}

}  // namespace atl::api::v1
