#include "core/runs.h"

#include <boost/asio/post.hpp>

#include "core/hooks.h"
#include "core/operation.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "core/startup.h"
#include "core/transitions.h"
#include "driver/feed_stdin.h"
#include "guest/plain_call.h"
#include "json/describe.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

// While it lives the sandbox counts as used.
class InUse final {
 public:
  explicit InUse(RecordPtr record) : record_(std::move(record)) { ++record_->leases; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() { --record_->leases; }

 private:
  RecordPtr record_;
};

// The sweeper will try again.
void note_left_over(const SandboxRecord& record, const Result<>& destroyed) {
  if (destroyed) return;
  telemetry::log_warn("a run's sandbox is left over, the sweeper will destroy it",
                      {{"sandbox", record.id}, {"why", destroyed.error().message()}});
}

}  // namespace

Task<RunResult> Runs::run(Caller caller, CreateRequest request, ExecRequest exec,
                          std::string stdin_bytes, RunOutput output, std::shared_ptr<RunStop> stop,
                          std::weak_ptr<void> keep_alive) {
  telemetry::StageTimer timer(parts_.clock);
  CO_TRY_OK(check_exec(exec));
  leave_out_ends(request, profiles_of(parts_.options));
  CO_TRY_OK(check_run(request));
  CO_TRY_OK(creator_.settle(request, Lifecycle::ephemeral));
  fill_in(exec, request.defaults);
  // A driver is chosen that can run as whoever the command runs as.
  request.defaults.user = exec.user;
  const bool is_simple = exec.stdin_mode == StdinMode::closed && exec.stdio == StdioMode::kept &&
                         stdin_bytes.empty() && exec.user.empty();
  if (is_simple && exec.warm == Warmth::welcome)
    request.warm = guest::plain_interpreter(exec.argv, request.env, exec.env);
  auto setup = std::exchange(request.setup, std::nullopt);
  request.stop = stop;
  const auto give_up = std::make_shared<GiveUp>();
  stop->on_stop_ = [give_up] { give_up->give_up(); };
  if (stop->stopped()) give_up->give_up();
  auto created = co_await creator_.create_for_run(caller, std::move(request), timer, give_up);
  stop->on_stop_ = nullptr;
  stop->is_made_ = true;
  if (!created && stop->stopped()) co_return Error(Code::cancelled, "the run was given up");
  CO_TRY(const auto record, std::move(created));
  const InUse in_use(record);
  announce_later(record, keep_alive);
  timer.skip();
  stop->on_stop_ = [this, record, keep_alive] {
    const auto alive = keep_alive.lock();
    if (!alive) return;
    spawn(parts_.executor, destroyer_.destroy(record, EndReason::asked), [alive](Result<>) {});
  };

  Result<ExecResult> executed = Error(Code::cancelled, "the run was given up");
  Result<> ready;
  if (setup && !stop->stopped()) {
    ready = co_await set_up(record, *std::move(setup));
    timer.mark("setup");
  }
  if (!ready) {
    executed = std::move(ready).error();
  } else if (!stop->stopped()) {
    executed = co_await execute(caller, record, std::move(exec), std::move(stdin_bytes),
                                std::move(output));
  }
  timer.mark("exec");
  if (!stop->stopped()) {
    auto said = co_await run_before_stop(parts_, record);
    if (said && said->log) {
      timer.tell(said->name, *std::move(said->log));
    } else if (said) {
      timer.mark(said->name);
    }
  }
  stop->on_stop_ = nullptr;
  record->place.leave();
  // A name is free again when the answer comes.
  if (record->name.empty() && over_.size() + teardowns_ < kMostTeardowns) {
    clear_away_later({std::move(caller), record}, keep_alive);
  } else {
    Operation reaping(caller, parts_.metrics, {record->driver, record->id}, "reap");
    auto destroyed = co_await destroyer_.destroy(record, EndReason::run_over);
    reaping.end(destroyed);
    note_left_over(*record, destroyed);
    timer.mark("destroy");
  }
  if (!executed) co_return explain(*record, *stop, std::move(executed).error());

  RunResult result{.exec = *std::move(executed),
                   .driver = record->driver,
                   .isolation = record->isolation,
                   .stages = record->stages};
  for (const auto& stage : timer.stages()) result.stages.push_back(stage);
  co_return result;
}

void Runs::announce_later(const RecordPtr& record, std::weak_ptr<void> alive) {
  if (record->run_intent != 0) return;
  unannounced_.push_back(record);
  if (unannounced_.size() > 1) return;
  announcement_.after(kShort, [this, alive = std::move(alive)] {
    const auto owner = alive.lock();
    if (!owner) return;
    for (const auto& weak : std::exchange(unannounced_, {})) {
      const auto waiting = weak.lock();
      if (waiting && waiting->state == State::running)
        waiting->run_intent = parts_.journal.begin_later(waiting, Op::run).id;
    }
  });
}

void Runs::clear_away_later(Over over, std::weak_ptr<void> alive) {
  const auto record = over.record;
  parts_.sandboxes.discount(*record);
  // Nobody finds it any more.
  if (is_legal(record->state, State::stopping)) parts_.sandboxes.move_to(*record, State::stopping);
  over_.push_back(std::move(over));
  if (over_.size() > kMostOver) clear_away_soon(alive);
  pause_.after(parts_.options.run_pause, [this, alive = std::move(alive)] {
    if (const auto owner = alive.lock()) clear_away(0, owner);
  });
}

// In two steps: the answer is waited for by somebody who is woken between them.
void Runs::clear_away_soon(std::weak_ptr<void> alive) {
  if (std::exchange(is_clearing_soon_, true)) return;
  asio::post(parts_.executor, [this, alive = std::move(alive)] {
    if (alive.expired()) return;
    asio::post(parts_.executor, [this, alive] {
      const auto owner = alive.lock();
      if (!owner) return;
      is_clearing_soon_ = false;
      clear_away(kMostOver, owner);
    });
  });
}

void Runs::clear_away(size_t left, const std::shared_ptr<void>& alive) {
  while (over_.size() > left) {
    const auto [caller, record] = std::move(over_.front());
    over_.pop_front();
    ++teardowns_;
    const auto reaping = std::make_shared<Operation>(
        caller, parts_.metrics, Operation::Subject{record->driver, record->id}, "reap");
    spawn(parts_.executor, destroyer_.destroy(record, EndReason::run_over),
          [this, record, reaping, alive](Result<> destroyed) {
            --teardowns_;
            reaping->end(destroyed);
            note_left_over(*record, destroyed);
            if (!destroyed) parts_.sandboxes.count_again(*record);
          });
  }
}

Error Runs::explain(const SandboxRecord& record, const RunStop& stop, Error error) const {
  if (stop.stopped()) return Error(Code::cancelled, "the run was given up");
  if (record.failure == "expired") {
    return Error(Code::deadline_exceeded, "the run's time to live is over")
        .with_hint("give it a longer ttl_s")
        .at_stage("exec");
  }
  return std::move(error).at_stage("exec");
}

Task<> Runs::set_up(RecordPtr record, SetupCommand setup) {
  const auto handle = record->handle;
  const auto network = startup_facts(parts_, *record, nullptr).network;
  auto done = co_await run_setup(handle->guest(), std::move(setup), network);
  if (!done) co_return std::move(done).error().at_stage("setup");
  co_return Result<>();
}

Task<ExecResult> Runs::execute(Caller caller, RecordPtr record, ExecRequest exec,
                               std::string stdin_bytes, RunOutput output) {
  ExecAccount account(caller, parts_.metrics, record->driver, record->id);
  account.begin(exec);
  const auto handle = record->handle;
  Task<ExecResult> call =
      output.observer ? observe(account, record, std::move(exec), std::move(stdin_bytes),
                                std::move(output.observer))
                      : exec_collect(handle->guest(), std::move(exec), std::move(stdin_bytes),
                                     output.keep, [&account](ExecStep step) { account.on(step); });
  auto executed = co_await std::move(call);
  if (executed) {
    account.on_ended(executed->status);
  } else {
    account.on_failed(executed.error());
  }
  co_return executed;
}

Task<ExecResult> Runs::observe(ExecAccount& account, RecordPtr record, ExecRequest exec,
                               std::string stdin_bytes, std::shared_ptr<RunObserver> observer) {
  const auto handle = record->handle;
  if (!stdin_bytes.empty()) exec.stdin_mode = StdinMode::open;
  CO_TRY(auto started, co_await handle->guest().start(std::move(exec)));
  const std::shared_ptr<Process> process = std::move(started);
  account.on(ExecStep::started);
  SandboxView view = record->view();
  CO_TRY_OK(co_await observer->on_started(std::move(view), process));
  if (!stdin_bytes.empty()) {
    spawn(parts_.executor, feed_stdin(process, std::move(stdin_bytes), AfterStdin::close));
  }
  for (;;) {
    CO_TRY(auto event, co_await process->next());
    ExecResult result;
    const auto* status = std::get_if<ExitStatus>(&event);
    const bool ended = status != nullptr;
    if (ended) result.status = *status;
    if (std::holds_alternative<Output>(event)) account.on(ExecStep::output);
    CO_TRY_OK(co_await observer->on_event(std::move(event)));
    if (ended) co_return result;
  }
}

}  // namespace atl
