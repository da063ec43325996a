// A verb of the command line: its grammar, what help says about it, and what it does.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/args.h"
#include "cli/program.h"

namespace atl::cli {

struct Context {
  const Args& args;
  Program& program;
  // Of the last answer of a daemon that was an error, for the report.
  std::string request_id;

  bool json() const { return args.has("json"); }
  bool quiet() const { return args.has("quiet"); }
};

// A headline of help, above the verbs that belong together. It has no default, so that a verb
// without one does not compile.
class Group final {
 public:
  constexpr explicit Group(std::string_view headline) : headline_(headline) {}
  constexpr std::string_view headline() const { return headline_; }

 private:
  std::string_view headline_;
};
inline constexpr Group kRunGroup("Run");
inline constexpr Group kSandboxesGroup("Sandboxes");
inline constexpr Group kLookGroup("Look");
inline constexpr Group kFilesGroup("Files");
inline constexpr Group kTemplatesGroup("Templates");
inline constexpr Group kAccessGroup("Access");
inline constexpr Group kDaemonGroup("Daemon and host");

struct Verb {
  Grammar grammar;
  Group group;
  std::string_view summary;  // one line
  std::string_view more;     // what help adds below the flags
  // Gives the exit code. Errors are rendered by whoever calls it.
  Result<int> (*run)(Context& context);
};

// In the order of help: those of a group stand together.
std::span<const Verb* const> all_verbs();
const Verb* find_verb(std::string_view name);

// Every verb takes these.
extern const std::span<const Flag> kEverywhereFlags;

std::string describe(const Verb& verb);
std::string describe_verbs();

// The whole command line: finds the verb, runs it, reports what went wrong. Gives the exit code.
int run_command_line(Program& program, std::span<const std::string> arguments);

}  // namespace atl::cli
