// `atoll map`: one command for many inputs, each in a fresh sandbox, some at a time.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <utility>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/json_view.h"
#include "cli/map_inputs.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/status_line.h"
#include "cli/verbs.h"
#include "client/line_reader.h"
#include "core/batch.h"
#include "json/encode.h"
#include "os/file.h"

namespace atl::cli {
namespace {

using api::v1::WireExec;

constexpr size_t kKeptMiB = api::v1::kDefaultKeep >> 20;
// Of one request to a daemon.
constexpr size_t kAtATime = 1000;
constexpr size_t kBytesAtATime = 4 << 20;
// Of one input: a request holds it, coded.
constexpr size_t kLongestInput = 16 << 20;
constexpr int64_t kMostJobs = 256;
constexpr int64_t kMostRetries = 9;

constexpr Flag kFlags[] = {
    {"jobs", 'j', "N", "how many at a time (default 8)"},
    {"from", 'a', "FILE", "read the inputs from a file instead of stdin"},
    {"null", '0', "", "inputs are separated by NUL bytes instead of line ends"},
    {"stdin", 0, "", "give the input to the command's stdin, not to its arguments"},
    {"retry", 0, "N", "try a run that fails up to N times more"},
    {"no-warm", 0, "", "start interpreters anew, though some may be waiting"},
    {"keep-order", 'k', "", "show output in the order of the inputs"},
};

struct WireBatch {
  WireCreate sandbox;
  std::vector<WireExec> runs;
  int64_t concurrency = 0;
  int64_t attempts = 1;
  bool retry_failures = true;
};
BOOST_DESCRIBE_STRUCT(WireBatch, (), (sandbox, runs, concurrency, attempts, retry_failures))

struct Asked {
  SandboxAsked sandbox;
  ExecAsked exec;
  std::vector<std::string> inputs;
  int64_t jobs = 8;
  int64_t retries = 0;
  bool by_stdin = false;
};

Result<int64_t> count_from(const Args& args, std::string_view flag, int64_t least, int64_t most,
                           int64_t usual) {
  const auto text = args.find(flag);
  if (!text) return usual;
  int64_t number = 0;
  const auto [end, trouble] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (trouble == std::errc() && end == text->data() + text->size() && number >= least &&
      number <= most) {
    return number;
  }
  return usage_error(fmt::format("--{}: '{}' is not a number from {} to {}", flag,
                                 to_printable(*text), least, most));
}

Result<std::string> read_inputs(const Args& args) {
  const auto file = args.find("from");
  if (file && *file != "-") return within_limit(os::read_file(AT_FDCWD, *file, kMostInputBytes));
  if (isatty(STDIN_FILENO) == 1) {
    return usage_error("there are no inputs")
        .with_hint("for example: seq 10 | atoll map -- echo {}");
  }
  return within_limit(os::read_open_file(STDIN_FILENO, kMostInputBytes));
}

// What no run could be given is refused before the first one.
Result<> check_inputs(const Asked& asked) {
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    const std::string& input = asked.inputs[i];
    const auto refuse = [&](std::string_view why) {
      return usage_error(fmt::format("input {}: {}", i + 1, why));
    };
    if (input.size() > kLongestInput)
      return refuse(fmt::format("it is longer than {} MiB", kLongestInput >> 20));
    if (!asked.by_stdin && !is_utf8(input))
      return refuse("it is not UTF-8").with_hint("give it to the command's stdin: --stdin");
  }
  return {};
}

// How a run went, as the API tells it, with the input that it was for.
class Teller final {
 public:
  Teller(const Context& context, const std::vector<std::string>& inputs)
      : inputs_(inputs),
        is_json_(context.json()),
        is_quiet_(context.quiet()),
        keeps_order_(context.args.has("keep-order")),
        bar_(context) {
    draw();
  }

  Result<> take(size_t index, json::Value run) {
    ++ended_;
    const bool is_error = !at(run, "problem").is_null();
    const bool is_success =
        !is_error && text_at(run, "reason") == "exited" && number_at(run, "exit_code") == 0;
    ++(is_error ? errors_ : is_success ? succeeded_ : failed_);
    if (!keeps_order_) {
      TRY_OK(show(index, run));
    } else {
      waiting_.emplace(index, std::move(run));
      for (auto first = waiting_.find(shown_); first != waiting_.end();
           first = waiting_.find(shown_)) {
        TRY_OK(show(first->first, first->second));
        waiting_.erase(first);
      }
    }
    draw();
    return {};
  }

  // Where the daemon is gone. What has come and waits for its turn is shown, as it counts.
  Error explain_break() {
    for (auto& [index, run] : std::exchange(waiting_, {})) {
      if (auto told = show(index, run); !told) return std::move(told).error();
    }
    bar_.clear();
    return Error(Code::unavailable,
                 fmt::format("the daemon broke off before everything had run: {} of {} succeeded",
                             succeeded_, inputs_.size()))
        .with_hint("was it stopped? what has been shown is complete");
  }

  // The exit code of all of it.
  int end() {
    bar_.clear();
    if (!is_quiet_ && (failed_ > 0 || errors_ > 0 || bar_.is_shown())) {
      tell(fmt::format(
          "atoll: {} of {} succeeded, {} failed{} in {:.1f} s", succeeded_, inputs_.size(), failed_,
          errors_ > 0 ? fmt::format(", {} could not be run", errors_) : "", seconds()));
    }
    if (errors_ > 0) return kExitAtollFailed;
    return failed_ > 0 ? 1 : 0;
  }

 private:
  Result<> show(size_t index, json::Value& run) {
    ++shown_;
    bar_.clear();
    if (is_json_) {
      auto& object = run.as_object();
      object.erase("type");
      object["index"] = index;
      object["input"] = inputs_[index];
      return print(json::encode(run) + "\n");
    }
    TRY(const std::string out, bytes_at(run, "stdout"));
    TRY(const std::string err, bytes_at(run, "stderr"));
    TRY_OK(print(out));
    if (!err.empty()) TRY_OK(os::write_all(STDERR_FILENO, err));
    if (is_quiet_) return {};
    const json::Value& cut = at(run, "truncated");
    const std::string which = fmt::format("input {} '{}'", index + 1, shortened(inputs_[index]));
    if (!at(run, "problem").is_null()) {
      tell(fmt::format("atoll: {}: {}", which, to_printable(text_at(run, "problem.detail"))));
    } else if (const auto facts = facts_from(run); exit_code_of(facts) != 0) {
      const std::string why = explain_end(facts);
      tell(fmt::format("atoll: {}: exit code {}{}", which, exit_code_of(facts),
                       why.empty() ? "" : ", " + why));
    }
    if (cut.is_bool() && cut.as_bool())
      tell(fmt::format("atoll: {}: its output was cut after {} MiB", which, kKeptMiB));
    return {};
  }

  static std::string shortened(const std::string& input) {
    constexpr size_t kShown = 40;
    return to_printable(input.size() > kShown ? input.substr(0, kShown) + "…" : input);
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  void draw() {
    const size_t all = std::max<size_t>(inputs_.size(), 1);
    const double part = static_cast<double>(ended_) / static_cast<double>(all);
    bar_.draw(fmt::format("{} {} of {}, {} failed, {:.0f}/s", progress_bar(part), ended_,
                          inputs_.size(), failed_ + errors_,
                          static_cast<double>(ended_) / std::max(seconds(), 0.001)));
  }

  const std::vector<std::string>& inputs_;
  bool is_json_, is_quiet_, keeps_order_;
  StatusLine bar_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  size_t ended_ = 0, succeeded_ = 0, failed_ = 0, errors_ = 0, shown_ = 0;
  std::map<size_t, json::Value> waiting_;
};

Result<WireExec> exec_for(const Context& context, const Asked& asked, size_t index) {
  const std::string& input = asked.inputs[index];
  const auto& command = context.args.command();
  TRY(WireExec exec,
      to_wire(asked.by_stdin ? command : fill_in(command, input, index + 1), asked.exec));
  if (asked.by_stdin) exec.stdin_b64 = to_base64(input);
  if (context.args.has("no-warm")) exec.warm = false;
  exec.max_output_bytes = api::v1::kDefaultKeep;
  return exec;
}

// As many as one request takes, from `first` on; gives the first of the next one.
Result<size_t> map_part(const Context& context, Client& client, const Asked& asked, size_t first,
                        Teller& teller) {
  WireBatch batch{asked.sandbox.request, {}, asked.jobs, asked.retries + 1, true};
  size_t end = first, bytes = 0;
  while (end < asked.inputs.size() && end - first < kAtATime && bytes < kBytesAtATime) {
    bytes += asked.inputs[end].size();
    TRY(auto exec, exec_for(context, asked, end++));
    batch.runs.push_back(std::move(exec));
  }
  auto request = client.connection().make_request(net::Method::post, "/v1/runs:batch");
  request.headers.add("Accept", "application/x-ndjson");
  request.headers.add("Content-Type", "application/json");
  request.body = json::encode(batch);
  bool has_begun = false, has_end = false, is_refused = false;
  const auto take = [&](std::string_view line) -> Result<> {
    TRY(auto told, parse_answer(line));
    if (text_at(told, "type") == "end") has_end = true;
    if (text_at(told, "type") != "run") return {};
    const auto index = first + static_cast<size_t>(number_at(told, "index"));
    if (index >= end) return Error(Code::unavailable, "the daemon answers nonsense");
    return teller.take(index, std::move(told));
  };
  const auto on_line = [&](std::string_view line) {
    has_begun = true;
    auto taken = take(line);
    is_refused = !taken;
    return taken;
  };
  auto read =
      run_task(client.loop(), client::read_lines(client.connection(), std::move(request), on_line));
  if (is_refused) return std::move(read).error();
  if (read && has_end) return end;
  // A daemon that dies ends the answer in its middle. One that gives none says why.
  if (!read && !has_begun) return std::move(read).error();
  return teller.explain_break();
}

// The same inside of this process.
class LocalRuns final : public BatchRuns {
 public:
  LocalRuns(const Context& context, const Asked& asked, Teller& teller)
      : context_(context), asked_(asked), teller_(teller) {}

  size_t size() const override { return asked_.inputs.size(); }

  Result<BatchRun> make(size_t index) override {
    TRY(auto exec, exec_for(context_, asked_, index));
    TRY(auto plan, api::v1::to_plan(std::move(exec)));
    TRY(auto sandbox, to_request(asked_.sandbox.request, api::Seat::local));
    return BatchRun{std::move(sandbox), std::move(plan.request), std::move(plan.stdin_bytes),
                    plan.keep};
  }

  Task<> take(size_t index, int attempts, Result<RunResult> result) override {
    std::string text;
    if (result) {
      text = to_json(*result);
    } else {
      text = json::encode(std::map<std::string, std::map<std::string, std::string>>{
          {"problem", {{"detail", result.error().message()}}}});
    }
    CO_TRY(auto run, parse_answer(text));
    run.as_object()["attempts"] = attempts;
    co_return teller_.take(index, std::move(run));
  }

 private:
  const Context& context_;
  const Asked& asked_;
  Teller& teller_;
};

Result<int> map(Context& context) {
  const Args& args = context.args;
  if (args.command().empty()) {
    return usage_error("there is no command to run")
        .with_hint("for example: seq 10 | atoll map -- echo {}");
  }
  Asked asked;
  TRY(asked.sandbox, sandbox_from(args));
  TRY(asked.exec, exec_from(args));
  TRY(asked.jobs, count_from(args, "jobs", 1, kMostJobs, asked.jobs));
  TRY(asked.retries, count_from(args, "retry", 0, kMostRetries, asked.retries));
  asked.by_stdin = args.has("stdin");
  if (args.has("interactive"))
    return usage_error("-i: stdin has the inputs").with_hint("--stdin gives each command its own");
  if (asked.sandbox.request.name)
    return usage_error("--name: each input has a sandbox of its own, and one name is not enough");
  TRY(const std::string text, read_inputs(args));
  TRY(asked.inputs, split_inputs(text, args.has("null") ? '\0' : '\n'));
  if (asked.inputs.empty()) return 0;
  TRY_OK(check_inputs(asked));

  TRY(const TargetSearch search, find_target(args, find_variable));
  if (!search.found) {
    TRY_OK(check_that_nobody_was_meant(search));
    TRY(const auto engine, open_engine(context));
    TRY_OK(settle_here(context, asked.sandbox, *engine));
    Teller teller(context, asked.inputs);
    const auto runs = std::make_shared<LocalRuns>(context, asked, teller);
    TRY_OK(engine->run_batch(
        runs, {static_cast<size_t>(asked.jobs), static_cast<int>(asked.retries) + 1, true}));
    return teller.end();
  }
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, connect_client(context, *search.found));
  TRY_OK(settle_directories(context, *client, asked.sandbox));
  Teller teller(context, asked.inputs);
  for (size_t next = 0; next < asked.inputs.size();) {
    TRY(next, map_part(context, *client, asked, next, teller));
  }
  return teller.end();
}

}  // namespace

const Verb kMapVerb{
    .grammar = {.verb = "map",
                .usage = "[FLAGS] [--] COMMAND [ARG…]",
                .flags = {kSandboxFlags, kEnvFlags, kPlaceFlags, kExecFlags, kFlags,
                          kEverywhereFlags},
                .tail = Tail::command},
    .group = kRunGroup,
    .summary = "Run a command for each input, each in a fresh sandbox",
    .more =
        "Inputs are the lines of stdin. {} in the command is the input, {#} its number; without "
        "either the\n"
        "input becomes the last argument. The output of each run is shown when it ends. The exit "
        "code is 0\n"
        "if every run succeeded, 1 if a command failed, 125 if a run could not be made.",
    .run = map};

}  // namespace atl::cli
