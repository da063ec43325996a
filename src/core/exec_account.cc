#include "core/exec_account.h"

#include "json/describe.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr std::string_view kStart = "exec_start";

}  // namespace

ExecAccount::ExecAccount(const Caller& caller, telemetry::Metrics& metrics, std::string driver,
                         const std::string& sandbox)
    : metrics_(&metrics),
      driver_(std::move(driver)),
      span_(caller.trace.begin("exec")),
      began_(std::chrono::steady_clock::now()) {
  span_.set("atoll.driver", driver_);
  span_.set("atoll.sandbox.id", sandbox);
  caller.trace.note_sandbox(sandbox);
}

void ExecAccount::begin(ExecRequest& request) {
  const auto scope = span_.scope();
  if (!scope) return;
  if (!request.argv.empty()) span_.set("process.executable.name", request.argv[0]);
  if (scope.trace()->facts().was_asked)
    request.env.try_emplace("TRACEPARENT", telemetry::to_traceparent(span_.context()));
  step_ = scope.begin("wake");
}

void ExecAccount::on(ExecStep step) { step == ExecStep::started ? on_started() : on_output(); }

void ExecAccount::on_started() {
  metrics_->operations.at(driver_, kStart, "ok").add();
  metrics_->operation_duration.at(driver_, kStart)
      .observe(std::chrono::steady_clock::now() - began_);
  step_.end();
  step_ = span_.scope().begin("first_byte");
}

void ExecAccount::on_output() {
  if (std::exchange(has_written_, true)) return;
  step_.end();
}

void ExecAccount::on_ended(const ExitStatus& status) {
  if (!has_written_) step_.drop();
  const auto reason = json::name_of(status.reason);
  metrics_->execs.at(driver_, reason).add();
  metrics_->exec_duration.at(driver_).observe(status.duration);
  metrics_->exec_cpu.at(driver_).add(status.usage.cpu_user + status.usage.cpu_system);
  // Zero is a driver that cannot tell.
  if (status.usage.peak_memory_bytes > 0)
    metrics_->exec_peak_memory.at(driver_).observe(status.usage.peak_memory_bytes);
  metrics_->exec_output.at(driver_).add(status.usage.stdout_bytes + status.usage.stderr_bytes);
  span_.set("atoll.exec.reason", reason);
  span_.set("process.exit.code", int64_t{status.exit_code});
  span_.set("atoll.exec.warm", status.warm);
  span_.end();
}

void ExecAccount::on_failed(const Error& error) {
  step_.drop();
  metrics_->operations.at(driver_, "exec", to_string(error.code())).add();
  span_.fail(error.code());
  span_.end();
}

}  // namespace atl
