// The flags that describe a command, which `run` and `exec` share; `create` takes environment, user
// and working directory.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "cli/args.h"

namespace atl::cli {

extern const std::span<const Flag> kEnvFlags;
// Where and as whom a command runs, which `create` takes as the sandbox's own.
extern const std::span<const Flag> kPlaceFlags;
extern const std::span<const Flag> kExecFlags;

using Variables = std::map<std::string, std::string>;

// What is configured, over it `--env-file`, over that `-e`. A name alone takes the value that our
// own environment has, and is left out if there is none.
Result<Variables> env_from(const Args& args);

// What stands in an environment file: NAME=value or NAME per line, blank lines, and comments that
// begin with #.
Result<> add_env_file(Variables& env, std::string_view text, std::string_view name);

struct ExecAsked {
  Variables env;
  std::string cwd;
  std::string user;
  Millis timeout{0};
  Millis cpu_time{0};
  bool interactive = false;
  bool tty = false;
};

Result<ExecAsked> exec_from(const Args& args);

}  // namespace atl::cli
