// POST /v1/runs: a command in a sandbox of its own, gone with the answer.
#include "api/body.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "api/v1/language.h"
#include "api/v1/output_sink.h"
#include "api/v1/sandbox_wire.h"

namespace atl::api::v1 {
namespace {

struct WireRun {
  static constexpr std::string_view kSchema = "Run";
  std::optional<WireCreate> sandbox;
  std::optional<WireExec> exec;
  // Instead of a command, code; and what it needs.
  std::optional<std::string> code;
  std::optional<std::string> language;  // python if not told
  std::optional<std::map<std::string, std::string>> files;
  std::optional<std::map<std::string, std::string>> files_b64;
  std::optional<std::vector<std::string>> requirements;
};
BOOST_DESCRIBE_STRUCT(WireRun, (), (sandbox, exec, code, language, files, files_b64, requirements))

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

// The code as a file of the sandbox, which the language's program runs.
Result<> add_code(WireRun& wire, WireExec& exec, CreateRequest& request) {
  if (exec.argv || exec.command) return invalid("code", "give either code or a command in exec");
  // It is the user's own directory, and would keep the file.
  if (request.workspace && request.workspace->access == HostAccess::rw) {
    return invalid("code", "it would be written into " + request.workspace->host_path)
        .with_hint(
            "give the workspace with access cow, or run the file that is there by exec.argv");
  }
  TRY(const Language* language, find_language(wire.language.value_or("python")));
  exec.argv = {std::string(language->program), std::string(language->file)};
  if (!exec.cwd) exec.cwd = request.defaults.cwd;
  if (!exec.user) exec.user = request.defaults.user;
  const std::string directory = exec.cwd->empty() ? "" : *exec.cwd + "/";
  if (request.files.size() == kMostInitialFiles) {
    return invalid("files", "there are " + std::to_string(kMostInitialFiles) +
                                ", and the code takes the place of one: at most " +
                                std::to_string(kMostInitialFiles - 1) + " are allowed beside it");
  }
  request.files.push_back({directory + std::string(language->file), *std::move(wire.code)});
  if (!wire.requirements || wire.requirements->empty()) return {};
  TRY(auto packages, get_packages(*language, *std::move(wire.requirements)));
  packages.setup.exec.cwd = *exec.cwd;
  packages.setup.exec.user = *exec.user;
  request.setup = std::move(packages.setup);
  if (!exec.env) exec.env.emplace();
  exec.env->merge(packages.env);
  return {};
}

// What goes with code and nothing else.
Result<> check_without_code(const WireRun& wire) {
  if (wire.language) return invalid("language", "it is the language of code, and there is none");
  if (wire.requirements)
    return invalid("requirements", "they are what code needs, and there is none");
  if (wire.exec) return {};
  return invalid("exec", "missing")
      .with_hint(R"~(say what to run: {"exec":{"argv":["echo","hi"]}} or {"code":"print(42)"})~");
}

constexpr openapi::Field kRunFields[] = {
    {"sandbox", "Absent: one as the daemon makes them by default."},
    {"exec", "The command; with `code`, everything about it but the command."},
    {"code", "Instead of a command."},
    {"language",
     "Of `code`: python, javascript, bash, sh, perl, ruby, php, lua or r, by these and other "
     "common "
     "names. The sandbox must have its program.",
     {},
     R"({"default":"python"})"},
    {"files",
     "As in CreateSandbox; `code` takes the place of one.",
     {.most = int64_t{kMostInitialFiles}}},
    {"files_b64",
     "As in CreateSandbox.",
     {.most = int64_t{kMostInitialFiles}},
     openapi::kBase64Values},
    {"requirements",
     "Packages that `code` needs, for python as pip names them, for javascript as npm does.",
     {.most = int64_t{kMostRequirements}},
     R"({"items":{"type":"string","minLength":1,"maxLength":500}})"},
};

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

void describe_run_requests(openapi::Schemas& schemas) {
  schemas.add<WireRun, kRunFields>(
      R"json({"anyOf":[{"required":["exec"]},{"required":["code"]}],"examples":[
        {"exec":{"argv":["echo","hello"]}},
        {"code":"print(6*7)"},
        {"code":"print(open('in.csv').read())","files":{"in.csv":"a,b"},"exec":{"timeout_ms":10000}}
      ]})json");
}

Task<> run(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireRun>(call, kMostCreateJson));
  if (!wire.code) CO_TRY_OK(check_without_code(wire));
  if (wire.sandbox)
    add_snapshots_template(*wire.sandbox, call.engine(), call.caller(), call.templates());
  auto request = to_request(std::move(wire.sandbox).value_or(WireCreate{}), call.visitor().seat,
                            call.templates(), &call.engine().profiles());
  if (!request) co_return std::move(request).error().with("sandbox");
  CO_TRY_OK(add_files(request->files, std::move(wire.files), std::move(wire.files_b64)));
  auto exec = std::move(wire.exec).value_or(WireExec{});
  if (wire.code) CO_TRY_OK(add_code(wire, exec, *request));
  auto plan = to_plan(std::move(exec));
  if (!plan) co_return std::move(plan).error().with("exec");
  const Reply reply = find_reply(call.request());
  CO_TRY_OK(check_stdin(*plan, reply));

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
