#include "cli/sandbox_runner.h"

#include "api/v1/driver_wire.h"
#include "cli/command.h"
#include "cli/json_view.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

struct WireRun {
  api::v1::WireCreate sandbox;
  api::v1::WireExec exec;
};
BOOST_DESCRIBE_STRUCT(WireRun, (), (sandbox, exec))

}  // namespace

SandboxRunner::~SandboxRunner() = default;

Result<std::unique_ptr<SandboxRunner>> SandboxRunner::open(Context& context) {
  std::unique_ptr<SandboxRunner> runner(new SandboxRunner);
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (search.found) {
    TRY(runner->client_, connect_client(context, *search.found));
    runner->where_ = "the daemon at " + search.found->url;
    return runner;
  }
  TRY_OK(check_that_nobody_was_meant(search));
  TRY(runner->engine_, context.program.open_engine(nullptr));
  runner->where_ = "an engine in this process";
  return runner;
}

Result<json::Array> SandboxRunner::drivers() {
  std::string text;
  if (client_) {
    TRY(text, client_->get("/v1/drivers"));
  } else {
    text = api::v1::encode_drivers(engine_->drivers());
  }
  TRY(const auto answer, parse_answer(text));
  return list_at(answer, "drivers");
}

Result<json::Value> SandboxRunner::run(api::v1::WireCreate sandbox, api::v1::WireExec exec) {
  if (client_) {
    const WireRun run{std::move(sandbox), std::move(exec)};
    TRY(const std::string text, client_->post("/v1/runs", json::encode(run)));
    return parse_answer(text);
  }
  TRY(auto plan, api::v1::to_plan(std::move(exec)));
  LocalRun run;
  TRY(run.sandbox, api::v1::to_request(std::move(sandbox), api::Seat::local));
  run.exec = std::move(plan.request);
  run.output = OutputTo::result;
  TRY(const RunResult result, engine_->run(std::move(run)));
  return parse_answer(to_json(result));
}

}  // namespace atl::cli
