#include "cli/exec_flags.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>

#include "base/text.h"
#include "base/time_words.h"
#include "core/request_check.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kLargestEnvFile = 1 << 20;

constexpr Flag kEnv[] = {
    {"env", 'e', "K=V", "an environment variable; a name alone takes its value from here"},
    {"env-file", 0, "FILE", "variables from a file, one per line"},
};

constexpr Flag kPlace[] = {
    {"workdir", 'w', "DIR", "the working directory; the workspace if not given"},
    {"user", 'u', "USER", "the user inside the sandbox"},
};

constexpr Flag kExec[] = {
    {"interactive", 'i', "", "pass stdin to the command"},
    {"tty", 't', "", "give the command a terminal: a shell, an editor, a debugger"},
    {"timeout", 0, "TIME", "kill the command after this long: 500ms, 30s, 5m (exit code 124)"},
    {"cpu-time", 0, "TIME", "kill it once it has used so much processor time (exit code 124)"},
};

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::ranges::none_of(name, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
}

// `where` names the place in errors: the text itself may be a secret.
Result<> add_variable(Variables& env, std::string_view text, std::string_view where) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  if (!is_variable_name(name)) {
    return usage_error(
               fmt::format("{}: {}", where,
                           name.empty() ? "a variable has no name" : "a name has no blanks in it"))
        .with_hint("write NAME=value, or NAME alone to take its value from here");
  }
  if (equals != std::string_view::npos) {
    env[name] = text.substr(equals + 1);
  } else if (const char* value = getenv(name.c_str())) {
    env[name] = value;
  }
  return {};
}

// Zero when the flag is not there.
Result<Millis> time_from(const Args& args, std::string_view flag) {
  const auto text = args.find(flag);
  if (!text) return Millis(0);
  const auto refuse = [&](const std::string& why) {
    return usage_error(fmt::format("--{}: {}", flag, why));
  };
  auto time = parse_duration(*text);
  if (!time) return refuse(time.error().message());
  if (time->count() <= 0) return refuse("it must be more than zero");
  if (*time > kLongestTimeout) {
    return refuse(too_long(*time, kLongestTimeout, "a command may run"));
  }
  return *time;
}

}  // namespace

constinit const std::span<const Flag> kEnvFlags = kEnv;
constinit const std::span<const Flag> kPlaceFlags = kPlace;
constinit const std::span<const Flag> kExecFlags = kExec;

Result<> add_env_file(Variables& env, std::string_view text, std::string_view name) {
  size_t number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    TRY_OK(add_variable(env, std::string_view(line).substr(first),
                        fmt::format("{}:{}", name, number)));
  }
  return {};
}

Result<Variables> env_from(const Args& args) {
  Variables env;
  for (const std::string& text : args.all_configured("env")) {
    TRY_OK(add_variable(env, text, "the configuration"));
  }
  for (const std::string& path : args.all("env-file")) {
    auto text = os::read_file(AT_FDCWD, path, kLargestEnvFile);
    if (!text) return std::move(text).error().with("--env-file");
    TRY_OK(add_env_file(env, *text, to_printable(path)));
  }
  size_t number = 0;
  for (const std::string& text : args.all_given("env")) {
    TRY_OK(add_variable(env, text, fmt::format("--env, number {}", ++number)));
  }
  return env;
}

Result<ExecAsked> exec_from(const Args& args) {
  ExecAsked asked;
  TRY(asked.env, env_from(args));
  asked.cwd = args.find("workdir").value_or("");
  asked.user = args.find("user").value_or("");
  asked.interactive = args.has("interactive");
  asked.tty = args.has("tty");
  if (asked.tty && args.has("json")) return usage_error("-t and --json contradict each other");
  TRY(asked.timeout, time_from(args, "timeout"));
  TRY(asked.cpu_time, time_from(args, "cpu-time"));
  return asked;
}

}  // namespace atl::cli
