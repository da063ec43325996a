#include "cli/exec_flags.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>

#include "base/text.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kLargestEnvFile = 1 << 20;

constexpr Flag kEnv[] = {
    {"env", 'e', "K=V", "an environment variable; a name alone takes its value from here"},
    {"env-file", 0, "FILE", "variables from a file, one per line"},
};

constexpr Flag kExec[] = {
    {"workdir", 'w', "DIR", "the working directory; the workspace if not given"},
    {"user", 'u', "USER", "the user inside the sandbox"},
    {"interactive", 'i', "", "pass stdin to the command"},
    {"timeout", 0, "TIME", "kill the command after this long: 500ms, 30s, 5m (exit code 124)"},
};

Result<> add_variable(Variables& env, std::string_view text, std::string_view where) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  if (name.empty() || name.find('\0') != std::string::npos) {
    return usage_error(fmt::format("{}: '{}' is not of the form K=V", where, to_printable(text)));
  }
  if (equals != std::string_view::npos) {
    env[name] = text.substr(equals + 1);
  } else if (const char* value = getenv(name.c_str())) {
    env[name] = value;
  }
  return {};
}

}  // namespace

constinit const std::span<const Flag> kEnvFlags = kEnv;
constinit const std::span<const Flag> kExecFlags = kExec;

Result<> add_env_file(Variables& env, std::string_view text, std::string_view name) {
  size_t number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    // The line itself may hold a secret, so errors name only its number.
    TRY_OK([&]() -> Result<> {
      if (line[first] == '=') {
        return usage_error(fmt::format("{}:{}: a line without a name", name, number));
      }
      return add_variable(env, std::string_view(line).substr(first),
                          fmt::format("{}:{}", name, number));
    }());
  }
  return {};
}

Result<Variables> env_from(const Args& args) {
  Variables env;
  for (const std::string& path : args.all("env-file")) {
    auto text = os::read_file(AT_FDCWD, path, kLargestEnvFile);
    if (!text) return std::move(text).error().with("--env-file");
    TRY_OK(add_env_file(env, *text, to_printable(path)));
  }
  for (const std::string& text : args.all("env")) TRY_OK(add_variable(env, text, "--env"));
  return env;
}

Result<ExecAsked> exec_from(const Args& args) {
  ExecAsked asked;
  TRY(asked.env, env_from(args));
  asked.cwd = args.find("workdir").value_or("");
  asked.user = args.find("user").value_or("");
  asked.interactive = args.has("interactive");
  if (const auto text = args.find("timeout")) {
    auto timeout = parse_duration(*text);
    if (!timeout) return usage_error("--timeout: " + timeout.error().message());
    if (timeout->count() <= 0) return usage_error("--timeout: it must be more than zero");
    asked.timeout = *timeout;
  }
  return asked;
}

}  // namespace atl::cli
