#include "cli/args.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace atl::cli {
namespace {

constexpr std::string_view kUsageStage = "usage";

const Flag* find_flag(const Grammar& grammar, std::string_view name) {
  for (const auto& group : grammar.flags) {
    for (const Flag& flag : group) {
      if (flag.name == name) return &flag;
    }
  }
  return nullptr;
}

const Flag* find_flag(const Grammar& grammar, char letter) {
  for (const auto& group : grammar.flags) {
    for (const Flag& flag : group) {
      if (flag.letter == letter) return &flag;
    }
  }
  return nullptr;
}

Error unknown_flag(const Grammar& grammar, std::string_view written) {
  std::string message = "unknown flag " + to_printable(written.substr(0, 80));
  if (written == "-t" || written == "--tty" || written.starts_with("-it")) {
    return usage_error(std::move(message))
        .with_hint("run and exec give a command a terminal: atoll exec -t BOX COMMAND");
  }
  std::vector<std::string> known;
  for (const auto& group : grammar.flags) {
    for (const Flag& flag : group) known.push_back("--" + std::string(flag.name));
  }
  // A single letter is near to everything, so only words get a suggestion.
  const std::string near = written.starts_with("--") ? did_you_mean(written, known) : "";
  if (!near.empty()) message += " (did you mean " + near + "?)";
  return usage_error(std::move(message), grammar.verb);
}

// "[FLAGS] BOX…" says that every word is a sandbox, "[FLAGS] BOX PATTERN [PATH]" that the first is.
bool names_sandbox(const Grammar& grammar, size_t word) {
  const size_t box = grammar.usage.find("BOX");
  if (box == std::string_view::npos) return false;
  const std::string_view behind = grammar.usage.substr(box + 3);
  if (behind.starts_with(':')) return false;  // BOX:PATH is one word with two parts
  return word == 0 || behind.starts_with("…");
}

}  // namespace

Error usage_error(std::string message, std::string_view verb) {
  Error error = Error(Code::invalid_argument, std::move(message)).at_stage(kUsageStage);
  if (verb.empty()) return error;  // who knows a better hint adds it
  return std::move(error).with_hint(fmt::format("see: atoll {} --help", verb));
}

bool is_usage_error(const Error& error) { return error.stage() == kUsageStage; }

// Takes one argument after another; `at` always stands on the next one.
class Parser final {
 public:
  Parser(const Grammar& grammar, std::span<const std::string> arguments)
      : grammar_(grammar), arguments_(arguments) {}

  using Flags = std::vector<std::pair<std::string_view, std::string>>;

  Result<> parse(Flags& flags, std::vector<std::string>& words, std::vector<std::string>& command) {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_];
      if (argument == "--") {
        ++at_;
        auto& rest = grammar_.tail == Tail::command ? command : words;
        rest.insert(rest.end(), arguments_.begin() + static_cast<ptrdiff_t>(at_), arguments_.end());
        break;
      }
      if (argument.size() > 1 && argument[0] == '-') {
        TRY_OK(argument[1] == '-' ? take_long(flags) : take_letters(flags));
        continue;
      }
      if (grammar_.tail == Tail::command && words.size() == grammar_.most_words) {
        command.assign(arguments_.begin() + static_cast<ptrdiff_t>(at_), arguments_.end());
        break;
      }
      words.push_back(argument);
      ++at_;
    }
    return {};
  }

 private:
  Result<> take_long(Flags& flags) {
    const std::string_view argument = std::string_view(arguments_[at_++]).substr(2);
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const Flag* flag = find_flag(grammar_, name);
    if (flag == nullptr) return unknown_flag(grammar_, "--" + std::string(name));

    if (equals != std::string_view::npos) {
      if (flag->value.empty()) {
        return usage_error(fmt::format("--{} takes no value", name), grammar_.verb);
      }
      flags.emplace_back(flag->name, argument.substr(equals + 1));
      return {};
    }
    return take_value(*flag, "--" + std::string(name), flags);
  }

  Result<> take_letters(Flags& flags) {
    const std::string_view letters = std::string_view(arguments_[at_++]).substr(1);
    for (size_t i = 0; i < letters.size(); ++i) {
      const std::string written = std::string("-") + letters[i];
      const Flag* flag = find_flag(grammar_, letters[i]);
      if (flag == nullptr) return unknown_flag(grammar_, written);
      if (flag->value.empty()) {
        flags.emplace_back(flag->name, "");
        continue;
      }
      std::string_view value = letters.substr(i + 1);
      if (value.empty()) return take_value(*flag, written, flags);
      if (value.starts_with('=')) value.remove_prefix(1);
      flags.emplace_back(flag->name, value);
      return {};
    }
    return {};
  }

  Result<> take_value(const Flag& flag, const std::string& written, Flags& flags) {
    if (flag.value.empty() || !flag.implied.empty()) {
      flags.emplace_back(flag.name, flag.implied);
      return {};
    }
    if (at_ == arguments_.size()) {
      return usage_error(fmt::format("{} needs a value: {} {}", written, written, flag.value),
                         grammar_.verb);
    }
    flags.emplace_back(flag.name, arguments_[at_++]);
    return {};
  }

  const Grammar& grammar_;
  std::span<const std::string> arguments_;
  size_t at_ = 0;
};

Result<Args> Args::parse(const Grammar& grammar, std::span<const std::string> arguments) {
  Args args;
  TRY_OK(Parser(grammar, arguments).parse(args.flags_, args.words_, args.command_));
  if (args.has("help")) return args;

  if (args.words_.size() > grammar.most_words) {
    return usage_error(
        fmt::format("unexpected '{}'", to_printable(args.words_[grammar.most_words])),
        grammar.verb);
  }
  if (args.words_.size() < grammar.least_words) {
    return usage_error(
        fmt::format("something is missing: atoll {} {}", grammar.verb, grammar.usage),
        grammar.verb);
  }
  for (size_t i = 0; i < args.words_.size(); ++i) {
    if (!args.words_[i].empty() || !names_sandbox(grammar, i)) continue;
    return usage_error("the name of the sandbox is empty")
        .with_hint("is a variable of your script not set? atoll ps lists the sandboxes");
  }
  return args;
}

std::optional<std::string> Args::find(std::string_view flag) const {
  std::vector<std::string> values = all(flag);
  if (values.empty()) return std::nullopt;
  return std::move(values.back());
}

std::vector<std::string> Args::all(std::string_view flag) const {
  std::vector<std::string> values = all_configured(flag);
  for (std::string& value : all_given(flag)) values.push_back(std::move(value));
  return values;
}

bool Args::given(std::string_view flag) const { return !all_given(flag).empty(); }

std::vector<std::string> Args::all_given(std::string_view flag) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : flags_) {
    if (name == flag) values.push_back(value);
  }
  return values;
}

std::vector<std::string> Args::all_configured(std::string_view flag) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : configured_) {
    if (name == flag) values.push_back(value);
  }
  return values;
}

void Args::configure(std::string_view flag, std::string value) {
  configured_.emplace_back(flag, std::move(value));
}

bool has_flag(const Grammar& grammar, std::string_view name) {
  return find_flag(grammar, name) != nullptr;
}

bool is_meant(const Grammar& grammar, const Flag& flag) {
  return find_flag(grammar, flag.name) == &flag;
}

std::string describe_flags(const Grammar& grammar) {
  std::string text;
  for (const auto& group : grammar.flags) {
    for (const Flag& flag : group) {
      if (!is_meant(grammar, flag)) continue;
      std::string left = flag.letter != 0 ? fmt::format("  -{}, --{}", flag.letter, flag.name)
                                          : fmt::format("      --{}", flag.name);
      if (!flag.value.empty()) {
        left += flag.implied.empty() ? fmt::format(" {}", flag.value)
                                     : fmt::format("[={}]", flag.value);
      }
      text += fmt::format("{:<30} {}\n", left, flag.help);
    }
  }
  return text;
}

}  // namespace atl::cli
