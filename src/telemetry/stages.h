// StageTimer: where the time of one request went, for `stages[]` of its answer, its trace and its
// error.
//
//   StageTimer timer;
//   …route…   timer.mark("route");
//   …create…  timer.mark("create");
//   answer.stages = timer.stages();
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/describe.h"
#include "telemetry/trace.h"

namespace atl::telemetry {

struct Stage {
  std::string name;
  double ms = 0;
  // Why it failed, what was decided or made, or what was said meanwhile; absent when there is
  // nothing to tell.
  std::optional<std::string> log;
};
BOOST_DESCRIBE_STRUCT(Stage, (), (name, ms, log))

// Of a log that tells what went well, which is a line.
constexpr size_t kMostNoted = 200;

// A plain value: copy it, move it, keep it with the request. The clock must outlive it.
class StageTimer final {
 public:
  explicit StageTimer(const Clock& clock = system_clock())
      : clock_(&clock), started_(clock.boot()), last_(started_) {}

  // From now on each mark is a span of `scope` as well.
  void trace_to(SpanScope scope) { scope_ = std::move(scope); }

  // The time since the last mark (or the start) belongs to `name`; a name that is there already
  // gets it added.
  void mark(std::string_view name);
  // The same for a stage that stands for itself, because it failed or because of what was said.
  void tell(std::string_view name, std::string log);
  // What the last stage of that name has to tell, unless it tells of something or is not there; cut
  // to kMostNoted bytes.
  void note(std::string_view name, std::string_view log);
  // A duration that somebody else measured, such as the launcher.
  void add(std::string_view name, Micros duration);
  // Drops the time since the last mark: waiting that belongs to no stage.
  void skip() { last_ = clock_->boot(); }

  const std::vector<Stage>& stages() const { return stages_; }
  // Since the start, whatever was marked.
  double total_ms() const;

 private:
  const Clock* clock_;
  Micros started_;
  Micros last_;
  std::vector<Stage> stages_;
  SpanScope scope_;
};

}  // namespace atl::telemetry
