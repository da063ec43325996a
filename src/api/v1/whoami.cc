// GET /v1/whoami and GET /v1/limits: what a client may do, and how much of it.
#include "api/object_writer.h"
#include "api/v1/batch_limits.h"
#include "api/v1/exec_wire.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"
#include "core/request_check.h"

namespace atl::api::v1 {
namespace {

template <typename T>
void append_limit(ObjectWriter& object, std::string_view name, const std::optional<T>& limit) {
  if (limit) {
    object.member(name, *limit);
  } else {
    object.null(name);
  }
}

std::optional<double> to_cpus(std::optional<int64_t> milli) {
  if (!milli) return std::nullopt;
  return static_cast<double>(*milli) / 1'000;
}

// Each limit with what there is of it now.
void append_quota(ObjectWriter& object, const TenantUse& use, const EngineOptions& engine) {
  append_limit(object, "sandboxes", use.quota.sandboxes);
  object.member("sandboxes_now", use.used.sandboxes);
  append_limit(object, "cpus", to_cpus(use.quota.milli_cpus));
  object.member("cpus_now", static_cast<double>(use.used.milli_cpus) / 1'000);
  append_limit(object, "memory_mb", use.quota.memory_mb);
  object.member("memory_mb_now", use.used.memory_mb);
  append_limit(object, "disk_mb", use.quota.disk_mb);
  object.member("disk_mb_now", use.used.disk_mb);
  append_limit(object, "creates_per_s", use.quota.creates_per_s);
  append_limit(object, "at_once", use.quota.at_once);
  if (use.quota.min_isolation) object.member("min_isolation", *use.quota.min_isolation);
  if (use.quota.placement) object.member("placement", *use.quota.placement);
  object.member("at_once_now", use.at_once);
  object.member("waiting_now", use.waiting);
  const AdmissionOptions& queue = engine.admission;
  object.member("queue", queue.longest_queue);
  object.member("queue_timeout_ms", static_cast<int64_t>(queue.longest_queue_timeout.count()));
  object.member("queue_timeout_default_ms", static_cast<int64_t>(queue.queue_timeout.count()));
}

}  // namespace

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
  const std::string asked(call.request().query.get("tenant"));
  if (!asked.empty() && asked != caller.tenant && caller.role != Role::admin) {
    co_return Error(Code::permission_denied,
                    "tenant: another tenant's limits are an admin's to see")
        .with_hint("leave it out to see your own");
  }
  const std::string& tenant = asked.empty() ? caller.tenant : asked;
  const bool is_limited = caller.role != Role::admin && call.options().requests.per_second > 0;
  std::string json;
  ObjectWriter object(json);
  if (caller.sandbox.empty()) {
    append_quota(object, call.engine().use_of(tenant), engine);
    object.member("snapshots", engine.most_snapshots_per_tenant);
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
