// Many runs, some of them at a time, each in a sandbox of its own.
#pragma once

#include <memory>
#include <string>

#include "core/engine.h"

namespace atl {

struct BatchRun {
  CreateRequest sandbox;
  ExecRequest exec;
  std::string stdin_bytes;
  size_t keep = 0;  // bytes of each stream
};

// What is run, and who is told how it went.
class BatchRuns {
 public:
  virtual ~BatchRuns() = default;

  virtual size_t size() const = 0;
  // Called again for another attempt, so it gives and keeps.
  virtual Result<BatchRun> make(size_t index) = 0;
  // As they end, in any order, and not before the last one was taken. An error ends the batch.
  virtual Task<> take(size_t index, int attempts, Result<RunResult> result) = 0;
};

// Lets whoever waits give the rest up; what is under way ends at once.
class BatchStop final {
 public:
  void stop();
  bool stopped() const { return stopped_; }

 private:
  friend class BatchWork;
  bool stopped_ = false;
  std::vector<std::weak_ptr<RunStop>> under_way_;
};

struct BatchOptions {
  size_t at_once = 8;
  // How often a run is tried that could not be made, or was lost; with `retry_failures` also one
  // whose command fails.
  int attempts = 1;
  bool retry_failures = false;
};

// Returns when every run has been taken, or none is under way any more; only stop() makes it
// shorter. The engine outlives it.
Task<> run_batch(Engine& engine, Caller caller, std::shared_ptr<BatchRuns> runs,
                 BatchOptions options, std::shared_ptr<BatchStop> stop);

}  // namespace atl
