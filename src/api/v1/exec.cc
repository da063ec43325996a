// POST /v1/sandboxes/{id}/exec: a command in a sandbox that is there.
#include "api/body.h"
#include "api/v1/follow.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {

Task<> exec(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireExec>(call, kMostExecJson));
  CO_TRY(auto plan, to_plan(std::move(wire)));
  CO_TRY(const auto on_disconnect, read_on_disconnect(call.request()));
  CO_TRY(const auto view, call.engine().get(call.caller(), call.sandbox()));
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), view.id));
  CO_TRY(auto request, call.engine().complete(call.caller(), view.id, std::move(plan.request)));
  ExecAccount account(call.caller(), call.metrics(), view.driver, view.id);
  account.begin(request);
  auto started = co_await lease->start(std::move(request));
  if (!started) {
    account.on_failed(started.error());
    co_return std::move(started).error().at_stage("exec");
  }
  account.on(ExecStep::started);

  const auto sink = make_sink(call, find_reply(call.request()), plan.keep);
  Followed followed{std::move(lease), *std::move(started), on_disconnect,
                    std::move(plan.stdin_bytes), plan.after_stdin};
  followed.account = &account;
  auto status = co_await follow(call, std::move(followed), *sink);
  if (!status) {
    account.on_failed(status.error());
    co_return co_await sink->fail(std::move(status).error().at_stage("exec"));
  }
  account.on_ended(*status);
  co_return co_await sink->end(*status, std::nullopt);
}

}  // namespace atl::api::v1
