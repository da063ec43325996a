// POST /v1/runs:batch: many commands, each in a sandbox of its own, told of as they end.
#include "core/batch.h"

#include "api/body.h"
#include "api/openapi/requests.h"
#include "api/v1/batch_limits.h"
#include "api/v1/handlers.h"
#include "api/v1/output_sink.h"
#include "api/v1/sandbox_wire.h"

namespace atl::api::v1 {
namespace {

// An answer that comes whole is held in memory.
constexpr size_t kBatchKeep = size_t{64} << 10;
constexpr size_t kMostWhole = size_t{256} << 20;
constexpr std::string_view kSplit =
    "send at most 10,000 runs and 32 MiB at a time; `atoll map` splits for you";
static_assert(kMostRuns == 10'000 && kMostBatchJson == size_t{32} << 20);

struct WireBatch {
  static constexpr std::string_view kSchema = "RunBatch";
  std::optional<WireCreate> sandbox;
  std::vector<WireExec> runs;
  std::optional<int64_t> concurrency;
  std::optional<int64_t> attempts;
  std::optional<bool> retry_failures;
};
BOOST_DESCRIBE_STRUCT(WireBatch, (), (sandbox, runs, concurrency, attempts, retry_failures))

constexpr openapi::Field kBatchFields[] = {
    {"sandbox", "Of each run; without a name."},
    {"runs", "", {.least = 1, .most = int64_t{kMostRuns}}},
    {"concurrency", "", {.least = 1, .most = kMostAtOnce}, R"({"default":8})"},
    {"attempts", "", {.least = 1, .most = kMostAttempts}, R"({"default":1})"},
    {"retry_failures", "Also those whose command fails.", {}, R"({"default":false})"},
};

Error bad(std::string what) {
  return Error(Code::invalid_argument, std::move(what)).at_stage("request");
}

Result<int64_t> in_range(const char* name, std::optional<int64_t> value, int64_t usual,
                         int64_t most) {
  if (!value) return usual;
  if (*value >= 1 && *value <= most) return *value;
  return bad(std::string(name) + ": must be from 1 to " + std::to_string(most));
}

// Tells of each run in a line of its own, or keeps all for one answer.
class Telling final : public BatchRuns {
 public:
  Telling(Call& call, WireBatch wire, Reply reply)
      : call_(call),
        seat_(call.visitor().seat),
        ids_(call.ids()),
        wire_(std::move(wire)),
        reply_(reply),
        whole_(wire_.runs.size()) {}

  size_t size() const override { return wire_.runs.size(); }

  Result<BatchRun> make(size_t index) override {
    TRY(auto plan, make_plan(index));
    TRY(auto sandbox, make_sandbox());
    return BatchRun{std::move(sandbox), std::move(plan.request), std::move(plan.stdin_bytes),
                    plan.keep};
  }

  // What is wrong with any of them is wrong with the whole request.
  Result<> check() {
    if (wire_.runs.empty()) return bad("runs: there is nothing to run");
    if (wire_.runs.size() > kMostRuns) {
      return bad("runs: there are " + std::to_string(wire_.runs.size()) + ", and at most " +
                 std::to_string(kMostRuns) + " in one batch")
          .with_hint(kSplit);
    }
    if (wire_.sandbox && wire_.sandbox->name)
      return bad("sandbox.name: each run has a sandbox of its own, and one name is not enough");
    TRY_OK(make_sandbox());
    size_t kept = 0;
    for (size_t i = 0; i < wire_.runs.size(); ++i) {
      TRY(const auto plan, make_plan(i));
      kept += 2 * plan.keep;
    }
    if (reply_ == Reply::json && kept > kMostWhole) {
      return Error(Code::too_large, "the answer could become larger than 256 MiB")
          .with_hint("accept application/x-ndjson, or lower max_output_bytes")
          .at_stage("request");
    }
    return {};
  }

  Task<> take(size_t index, int attempts, Result<RunResult> result) override {
    std::string line;
    ObjectWriter object(line);
    if (reply_ != Reply::json) object.member("type", std::string_view("run"));
    object.member("index", index);
    object.member("attempts", attempts);
    if (result) {
      append(object, *result);
    } else {
      ++errors_;
      append_problem(object.key("problem"), Problem(std::move(result).error()), ids_);
    }
    object.close();
    if (reply_ == Reply::json) {
      whole_[index] = std::move(line);
      co_return Result<>();
    }
    line += '\n';
    co_return co_await call_.exchange().write(line);
  }

  Task<> end() {
    std::string json;
    ObjectWriter object(json);
    if (reply_ == Reply::json) {
      std::string& runs = object.key("runs");
      runs += '[';
      for (const auto& one : whole_) {
        if (runs.back() != '[') runs += ',';
        runs += one;
      }
      runs += ']';
    } else {
      object.member("type", std::string_view("end"));
    }
    object.member("succeeded", succeeded_);
    object.member("failed", failed_);
    object.member("errors", errors_);
    object.member("request_id", ids_.request_id);
    object.close();
    if (reply_ == Reply::json) co_return co_await call_.answer(200, std::move(json));
    json += '\n';
    CO_TRY_OK(co_await call_.exchange().write(json));
    co_return co_await call_.exchange().end();
  }

 private:
  Result<ExecPlan> make_plan(size_t index) const {
    const std::string where = "runs[" + std::to_string(index) + "]";
    auto plan = to_plan(wire_.runs[index]);
    if (!plan) return std::move(plan).error().with(where);
    if (plan->after_stdin != AfterStdin::close)
      return bad(where + ": stdin_open: nobody could send more to this run");
    if (!wire_.runs[index].max_output_bytes) plan->keep = kBatchKeep;
    return plan;
  }
  // Opens the host's directories anew each time: every sandbox takes its own.
  Result<CreateRequest> make_sandbox() const {
    auto sandbox = to_request(wire_.sandbox.value_or(WireCreate{}), seat_, call_.templates(),
                              &call_.engine().profiles());
    if (!sandbox) return std::move(sandbox).error().with("sandbox");
    return sandbox;
  }

  void append(ObjectWriter& object, RunResult& result) {
    const auto& status = result.exec.status;
    const bool is_success = status.reason == ExitReason::exited && status.exit_code == 0;
    ++(is_success ? succeeded_ : failed_);
    const auto truncated = result.exec.truncated ? Truncated::yes : Truncated::no;
    append_output(object, "stdout", result.exec.out, truncated);
    append_output(object, "stderr", result.exec.err, truncated);
    append_exit(object, status, truncated);
    append_run_facts(object,
                     {std::move(result.driver), result.isolation, std::move(result.stages)});
  }

  Call& call_;
  Seat seat_;
  RequestIds ids_;
  WireBatch wire_;
  Reply reply_;
  std::vector<std::string> whole_;
  size_t succeeded_ = 0, failed_ = 0, errors_ = 0;
};

}  // namespace

void describe_batch_requests(openapi::Schemas& schemas) {
  schemas.add<WireBatch, kBatchFields>(
      R"({"examples":[{"runs":[{"argv":["echo","one"]},{"argv":["echo","two"]}],"concurrency":2}]})");
}

Task<> run_batch(Call& call) {
  auto read = co_await read_json<WireBatch>(call, kMostBatchJson);
  if (!read) {
    const bool is_too_large = read.error().code() == Code::too_large;
    co_return std::move(read).error().with_hint(is_too_large ? kSplit : "");
  }
  WireBatch wire = *std::move(read);
  BatchOptions options;
  CO_TRY(const int64_t at_once, in_range("concurrency", wire.concurrency, 8, kMostAtOnce));
  CO_TRY(const int64_t attempts, in_range("attempts", wire.attempts, 1, kMostAttempts));
  options.at_once = static_cast<size_t>(at_once);
  options.attempts = static_cast<int>(attempts);
  options.retry_failures = wire.retry_failures.value_or(false);
  // Frames are for one process; whoever accepts any stream gets lines.
  const Reply reply = find_reply(call.request()) == Reply::json ? Reply::json : Reply::ndjson;
  const auto runs = std::make_shared<Telling>(call, std::move(wire), reply);
  CO_TRY_OK(runs->check());

  const auto stop = std::make_shared<BatchStop>();
  call.exchange().on_closed([stop] { stop->stop(); });
  if (reply == Reply::ndjson) CO_TRY_OK(co_await call.begin(call.headers("application/x-ndjson")));
  CO_TRY_OK(co_await atl::run_batch(call.engine(), call.caller(), runs, options, stop));
  co_return co_await runs->end();
}

}  // namespace atl::api::v1
