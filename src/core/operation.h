// Operation: one thing that is done with a sandbox, as metrics and traces tell of it.
//
//   Operation pausing(caller, parts.metrics, {record->driver, record->id}, "pause");
//   …
//   pausing.end(result);      // without it nothing is counted: nobody knows how it went
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/engine.h"

namespace atl {

class Operation final {
 public:
  struct Subject {
    std::string driver;
    std::string sandbox;
  };

  // `name` is a constant; `metrics` outlives it.
  Operation(const Caller& caller, telemetry::Metrics& metrics, Subject subject,
            std::string_view name);

  telemetry::SpanScope scope() const { return span_.scope(); }

  template <typename T>
  void end(const Result<T>& result) {
    result ? end_as("ok") : fail(result.error());
  }

 private:
  void fail(const Error& error);
  void end_as(std::string_view outcome);

  telemetry::Metrics* metrics_;
  Subject subject_;
  std::string_view name_;
  std::chrono::steady_clock::time_point began_;
  telemetry::OpenSpan span_;
};

}  // namespace atl
