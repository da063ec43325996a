// GET /v1/whoami and GET /v1/limits: what a client may do, and how much of it.
#include "api/object_writer.h"
#include "api/v1/batch_limits.h"
#include "api/v1/exec_wire.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"
#include "core/request_check.h"

namespace atl::api::v1 {

Task<> who_am_i(Call& call) {
  const Caller& caller = call.caller();
  std::string json;
  ObjectWriter object(json);
  object.member("tenant", caller.tenant);
  object.member("subject", caller.subject);
  if (caller.sandbox.empty()) {
    object.member("role", caller.role);
  } else {
    object.member("sandbox", caller.sandbox);
  }
  object.member("may", all_that_may(caller));
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> limits(Call& call) {
  const Caller& caller = call.caller();
  const EngineOptions& engine = call.engine().options();
  const bool is_limited = caller.role != Role::admin && call.options().requests.per_second > 0;
  std::string json;
  ObjectWriter object(json);
  if (caller.sandbox.empty()) {
    object.member("sandboxes", engine.most_sandboxes_per_tenant);
    object.member("sandboxes_now", call.engine().count_of(caller.tenant));
  }
  if (is_limited) {
    object.member("requests_per_s", call.options().requests.per_second);
    object.member("requests_burst", call.options().requests.burst);
  } else {
    object.null("requests_per_s");
    object.null("requests_burst");
  }
  object.member("ttl_s", static_cast<int64_t>(engine.longest_ttl.count()));
  object.member("ttl_default_s", static_cast<int64_t>(engine.default_ttl.count()));
  object.member("token_ttl_s", static_cast<int64_t>(kLongestTokenLife.count()));
  object.member("timeout_ms", static_cast<int64_t>(kLongestTimeout.count()));
  object.member("json_bytes", kMostJson);
  object.member("exec_json_bytes", kMostExecJson);
  object.member("create_json_bytes", kMostCreateJson);
  object.member("initial_files", kMostInitialFiles);
  object.member("batch_json_bytes", kMostBatchJson);
  object.member("batch_runs", kMostRuns);
  object.member("batch_concurrency", kMostAtOnce);
  object.member("batch_attempts", kMostAttempts);
  object.member("upload_bytes", call.options().most_upload_bytes);
  object.member("output_bytes", kMostKeep);
  object.member("output_default_bytes", kDefaultKeep);
  object.member("labels", kMostLabels);
  object.member("env_variables", kMostEnv);
  object.member("env_bytes", kMostEnvBytes);
  object.member("arguments", kMostArguments);
  object.member("argument_bytes", kMostArgumentBytes);
  object.member("host_dirs", call.visitor().seat == Seat::local ? kMostMounts : 0);
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
