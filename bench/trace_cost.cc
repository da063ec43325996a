// What telling of a request costs: spans as they are made, a whole run's, and the same encoded for
// a collector. The best of many rounds, because everything else is the machine.
//
//   bench_trace_cost [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "telemetry/metrics.h"
#include "telemetry/otlp.h"
#include "telemetry/tracer.h"

namespace {

using namespace atl;
using namespace atl::telemetry;

constexpr int kEach = 1'000;

// Nanoseconds of one call.
template <typename Act>
double best_of(int rounds, Act act) {
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < kEach; ++i) act();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count() / kEach);
  }
  return best;
}

OpenSpan begin_request(Tracer& tracer) {
  Trace::Facts facts{.root = 1, .request_id = "req0123456789abcdef", .tenant = "default"};
  return tracer.begin(std::move(facts), "POST /v1/runs", tracer.now());
}

// As the daemon does it for POST /v1/runs.
TracePtr tell_of_run(Tracer& tracer) {
  OpenSpan root = begin_request(tracer);
  root.set("http.request.method", "POST");
  root.set("http.route", "/v1/runs");
  root.set("atoll.request.id", "req0123456789abcdef");
  const SpanScope scope = root.scope();
  for (const char* stage : {"authorise", "route", "intent", "hand_over", "commit"})
    scope.add(stage, tracer.now(), tracer.now());
  scope.begin("decode").end();
  OpenSpan exec = scope.begin("exec");
  exec.set("atoll.driver", "native");
  exec.set("atoll.sandbox.id", "sbx0123456789abcdefghij");
  exec.set("process.executable.name", "true");
  scope.note_sandbox("sbx0123456789abcdefghij");
  exec.scope().begin("wake").end();
  exec.scope().begin("first_byte").end();
  exec.set("atoll.exec.reason", "exited");
  exec.set("process.exit.code", int64_t{0});
  exec.end();
  OpenSpan reap = scope.begin("reap");
  reap.set("atoll.driver", "native");
  reap.end();
  scope.begin("reply").end();
  root.set("http.response.status_code", int64_t{200});
  TracePtr trace = scope.trace();
  root.end();
  return trace;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  Tracer tracer(system_clock());
  Metrics metrics;

  const double nothing = best_of(rounds, [] { SpanScope().begin("exec").end(); });
  // Few enough of each trace that none is over its limit.
  OpenSpan root = begin_request(tracer);
  int made = 0;
  const double span = best_of(rounds, [&] {
    if (++made % 900 == 0) root = begin_request(tracer);
    root.scope().begin("exec").end();
  });
  const double run = best_of(rounds, [&] { tell_of_run(tracer); });
  const double metric =
      best_of(rounds, [&] { metrics.operations.at("native", "exec_start", "ok").add(); });

  const TracePtr trace = tell_of_run(tracer);
  std::vector<EndedSpan> ended;
  for (size_t i = 0; i < trace->spans().size(); ++i) ended.push_back({trace, i});
  const double encode = best_of(rounds, [&] {
    if (to_otlp({}, ended).empty()) std::abort();
  });

  std::printf(
      "{\"untraced_span_ns\": %.0f, \"span_ns\": %.0f, \"run_ns\": %.0f, \"run_spans\": %zu, "
      "\"labelled_metric_ns\": %.0f, \"encoded_span_ns\": %.0f}\n",
      nothing, span, run, ended.size(), metric, encode / static_cast<double>(ended.size()));
  return 0;
}
