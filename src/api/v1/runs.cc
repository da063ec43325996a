// POST /v1/runs: a command in a sandbox of its own, gone with the answer.
#include "api/body.h"
#include "api/v1/handlers.h"
#include "api/v1/output_sink.h"
#include "api/v1/sandbox_wire.h"

namespace atl::api::v1 {
namespace {

struct WireRun {
  std::optional<WireCreate> sandbox;
  WireExec exec;
};
BOOST_DESCRIBE_STRUCT(WireRun, (), (sandbox, exec))

RunFacts facts_of(RunResult& result) {
  return {std::move(result.driver), result.isolation, std::move(result.stages)};
}

// Tells the client as the run goes; the end is told when its sandbox is gone.
class Teller final : public RunObserver {
 public:
  explicit Teller(OutputSink& sink) : sink_(sink) {}

  Task<> on_started(SandboxView view, std::shared_ptr<Process> process) override {
    StartFacts facts{std::move(view.id), process->id(), process->pid()};
    co_return co_await sink_.start(std::move(facts));
  }

  Task<> on_event(ProcessEvent event) override {
    if (auto* output = std::get_if<Output>(&event)) {
      co_return co_await sink_.output(std::move(*output));
    }
    if (const auto* gap = std::get_if<OutputGap>(&event)) co_return co_await sink_.gap(*gap);
    co_return Result<>();
  }

 private:
  OutputSink& sink_;
};

Result<> check_stdin(const ExecPlan& plan, Reply reply) {
  if (plan.after_stdin == AfterStdin::close) return {};
  if (reply == Reply::json) {
    return Error(Code::invalid_argument, "stdin_open: nobody could send more to this run")
        .with_hint("accept application/x-ndjson: its first line names sandbox and process")
        .at_stage("request");
  }
  if (plan.stdin_bytes.empty()) return {};
  return Error(Code::invalid_argument, "stdin_open: a run takes either this or stdin")
      .with_hint("send everything to the process's stdin instead")
      .at_stage("request");
}

}  // namespace

Task<> run(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireRun>(call, kMostExecJson));
  auto plan = to_plan(std::move(wire.exec));
  if (!plan) co_return std::move(plan).error().with("exec");
  const Reply reply = find_reply(call.request());
  CO_TRY_OK(check_stdin(*plan, reply));
  auto request = to_request(std::move(wire.sandbox).value_or(WireCreate{}), call.visitor().seat);
  if (!request) co_return std::move(request).error().with("sandbox");

  const auto stop = std::make_shared<RunStop>();
  call.exchange().on_closed([stop] { stop->stop(); });
  const auto sink = make_sink(call, reply, plan->keep);
  // The whole answer goes through the same teller: the client is told process and pid either way.
  const auto teller = std::make_shared<Teller>(*sink);
  auto result =
      co_await call.engine().run(call.caller(), *std::move(request), std::move(plan->request),
                                 std::move(plan->stdin_bytes), teller, stop);
  if (!result) co_return co_await sink->fail(std::move(result).error());
  co_return co_await sink->end(result->exec.status, facts_of(*result));
}

}  // namespace atl::api::v1
