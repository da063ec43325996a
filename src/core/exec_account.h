// ExecAccount: one command, as metrics and traces tell of it.
//
// Its span is `exec`; within it `wake` lasts until the command has started and `first_byte` from
// then until it has written something. Of what is run only argv[0] is told.
#pragma once

#include <string>

#include "core/engine.h"

namespace atl {

class ExecAccount final {
 public:
  // `metrics` outlives it.
  ExecAccount(const Caller& caller, telemetry::Metrics& metrics, std::string driver,
              const std::string& sandbox);

  // Before the request goes to the guest. A caller that sent a trace context has it passed on, as
  // TRACEPARENT in the command's environment, unless that has one already.
  void begin(ExecRequest& request);
  void on(ExecStep step);
  void on_ended(const ExitStatus& status);
  void on_failed(const Error& error);

 private:
  void on_started();
  void on_output();

  telemetry::Metrics* metrics_;
  std::string driver_;
  telemetry::OpenSpan span_;
  telemetry::OpenSpan step_;  // wake, then first_byte
  std::chrono::steady_clock::time_point began_;
  bool has_written_ = false;
};

}  // namespace atl
