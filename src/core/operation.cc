#include "core/operation.h"

#include "telemetry/metrics.h"

namespace atl {

Operation::Operation(const Caller& caller, telemetry::Metrics& metrics, Subject subject,
                     std::string_view name)
    : metrics_(&metrics),
      subject_(std::move(subject)),
      name_(name),
      began_(std::chrono::steady_clock::now()),
      span_(caller.trace.begin(name)) {
  span_.set("atoll.driver", subject_.driver);
  span_.set("atoll.sandbox.id", subject_.sandbox);
  caller.trace.note_sandbox(subject_.sandbox);
}

void Operation::fail(const Error& error) {
  span_.fail(error.code());
  end_as(to_string(error.code()));
}

void Operation::end_as(std::string_view outcome) {
  metrics_->operations.at(subject_.driver, name_, outcome).add();
  metrics_->operation_duration.at(subject_.driver, name_)
      .observe(std::chrono::steady_clock::now() - began_);
  span_.end();
}

}  // namespace atl
