// The command line as people write it: `--name value`, `--name=value`, `-n value`, `-nvalue`,
// `-abc`, and errors that help.
//
// Errors are usage errors (usage_error() below): one sentence, the nearest flag that exists, and
// where to read more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace atl::cli {

struct Flag {
  std::string_view name;   // without dashes
  char letter = 0;         // 0 = it has none
  std::string_view value;  // how help calls its value; "" = it takes none
  std::string_view help;
  // For `--here[=MODE]`: what stands for the value when it is left out. Such a value needs the `=`.
  std::string_view implied = {};
};

// What may follow the flags.
enum class Tail : uint8_t {
  words,    // words only; flags may stand among them
  command,  // words, then a command: it begins with the first further word, or after `--`, and
            // takes all that is left
};

struct Grammar {
  std::string_view verb;
  std::string_view usage;  // what follows the verb: "[FLAGS] BOX"
  std::array<std::span<const Flag>, 6> flags;
  size_t least_words = 0;
  size_t most_words = 0;
  Tail tail = Tail::words;
};

class Args final {
 public:
  static Result<Args> parse(const Grammar& grammar, std::span<const std::string> arguments);

  bool has(std::string_view flag) const { return find(flag).has_value(); }
  // The last one given, as later flags override earlier ones; else what is configured.
  std::optional<std::string> find(std::string_view flag) const;
  // Those that are configured first.
  std::vector<std::string> all(std::string_view flag) const;

  // On the command line itself.
  bool given(std::string_view flag) const;
  std::vector<std::string> all_given(std::string_view flag) const;
  // By a configuration file or a variable.
  std::vector<std::string> all_configured(std::string_view flag) const;
  // Stands for a flag that the grammar has; one that is given overrides it.
  void configure(std::string_view flag, std::string value);

  const std::vector<std::string>& words() const { return words_; }
  const std::vector<std::string>& command() const { return command_; }

 private:
  Args() = default;

  std::vector<std::pair<std::string_view, std::string>> flags_;
  std::vector<std::pair<std::string, std::string>> configured_;
  std::vector<std::string> words_;
  std::vector<std::string> command_;
};

bool has_flag(const Grammar& grammar, std::string_view name);
// Whether its name means this one: of two by the same name it is that of the earlier group.
bool is_meant(const Grammar& grammar, const Flag& flag);

// The user's command line is wrong; exit code 2.
Error usage_error(std::string message, std::string_view verb = {});
bool is_usage_error(const Error& error);

// The lines of help about flags.
std::string describe_flags(const Grammar& grammar);

}  // namespace atl::cli
