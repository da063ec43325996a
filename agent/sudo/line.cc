#include "agent/sudo/line.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"

namespace atl::sudo {
namespace {

constexpr const char* kUsage =
    "usage: sudo [-EHins] [-u USER] [VAR=value …] [--] COMMAND [ARGUMENT …]\n"
    "       sudo -l | -v | -k | -V | -h\n"
    "Runs a command as another user of this sandbox, as root if none is named. Root here has\n"
    "no power outside of the sandbox.\n";

// What a command of somebody else's needs to talk to the same person.
constexpr const char* kKept[] = {"TERM", "COLORTERM", "LANG", "LANGUAGE", "TZ", "DISPLAY"};

Error wrong(std::string why) { return Error(Code::invalid_argument, std::move(why)); }

bool is_kept(const std::string& name) {
  return name.starts_with("LC_") ||
         std::ranges::any_of(kKept, [&](const char* kept) { return name == kept; });
}

// "VAR=value" → where the value begins.
std::optional<size_t> assignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return {};
  const bool named = std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return named ? std::optional(equals + 1) : std::nullopt;
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

class Parser final {
 public:
  Parser(std::span<const std::string> words, const Caller& caller)
      : words_(words), caller_(caller) {}

  Result<Line> parse() {
    while (!words_.empty() && words_[0].starts_with('-') && words_[0] != "-") {
      const std::string word = take();
      if (word == "--") break;
      TRY_OK(word.starts_with("--") ? long_option(word.substr(2)) : short_options(word));
      if (line_.wish == Wish::tell) return std::move(line_);
    }
    std::map<std::string, std::string> set;
    while (!words_.empty()) {
      const auto value = assignment(words_[0]);
      if (!value) break;
      set[words_[0].substr(0, *value - 1)] = words_[0].substr(*value);
      take();
    }
    if (words_.empty() && !shell_ && !login_) {
      if (line_.wish == Wish::nothing) return std::move(line_);
      return wrong("there is no command\n" + std::string(kUsage));
    }
    line_.wish = Wish::run;
    choose_command();
    choose_environment(set);
    return std::move(line_);
  }

 private:
  std::string take() {
    std::string word = words_[0];
    words_ = words_.subspan(1);
    return word;
  }

  Result<std::string> value_of(const std::string& option) {
    if (words_.empty()) return wrong("option " + option + " needs a value");
    return take();
  }

  Result<> long_option(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name == "user") {
      TRY(line_.ask.user, equals == std::string::npos
                              ? value_of("--user")
                              : Result<std::string>(word.substr(equals + 1)));
      return {};
    }
    if (name == "preserve-env" && equals != std::string::npos) {
      for (const auto& kept : split(word.substr(equals + 1), ',')) preserved_.push_back(kept);
      return {};
    }
    constexpr struct {
      const char* name;
      char letter;
    } kSame[] = {{"preserve-env", 'E'},
                 {"set-home", 'H'},
                 {"non-interactive", 'n'},
                 {"login", 'i'},
                 {"shell", 's'},
                 {"stdin", 'S'},
                 {"list", 'l'},
                 {"validate", 'v'},
                 {"reset-timestamp", 'k'},
                 {"version", 'V'},
                 {"remove-timestamp", 'K'},
                 {"help", 'h'}};
    for (const auto& same : kSame) {
      if (name == same.name) return short_options(std::string("-") + same.letter);
    }
    return wrong("option --" + to_printable(name) + " is not known here\n" + kUsage);
  }

  Result<> short_options(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      switch (word[i]) {
        case 'u': {
          const std::string rest = word.substr(i + 1);
          TRY(line_.ask.user, rest.empty() ? value_of("-u") : Result<std::string>(rest));
          return {};
        }
        case 'E':
          keep_all_ = true;
          break;
        case 'i':
          login_ = true;
          break;
        case 's':
          shell_ = true;
          break;
        // There is never a password to ask for, and home is always the other user's.
        case 'H':
        case 'n':
        case 'S':
        case 'P':
          break;
        case 'k':
        case 'K':
        case 'v':
          line_.wish = Wish::nothing;
          break;
        case 'l':
          return tell("User " + caller_.name +
                      " may run every command as every user of this sandbox.\n");
        case 'V':
          return tell("sudo of Atoll " ATOLL_VERSION "\n");
        case 'h':
          return tell(kUsage);
        default:
          return wrong(std::string("option -") + to_printable(word.substr(i, 1)) +
                       " is not known here\n" + kUsage);
      }
    }
    return {};
  }

  Result<> tell(std::string text) {
    line_.wish = Wish::tell;
    line_.text = std::move(text);
    return {};
  }

  void choose_command() {
    std::vector<std::string> argv(words_.begin(), words_.end());
    if (shell_ || login_) {
      const auto wanted = caller_.env.find("SHELL");
      std::string shell = !login_ && wanted != caller_.env.end() ? wanted->second : "/bin/sh";
      std::string script = login_ ? "cd" : "";
      if (!argv.empty()) {
        if (login_) script += " && ";
        for (const auto& word : argv) script += quoted(word) + " ";
      } else if (login_) {
        script += "; exec \"${SHELL:-/bin/sh}\"";
      }
      argv = {std::move(shell)};
      if (login_) argv.emplace_back("-l");
      if (!script.empty()) argv.insert(argv.end(), {"-c", std::move(script)});
    }
    line_.ask.argv = std::move(argv);
  }

  void choose_environment(const std::map<std::string, std::string>& set) {
    auto& env = line_.ask.env;
    for (const auto& [name, value] : caller_.env) {
      const bool named = std::ranges::find(preserved_, name) != preserved_.end();
      if (keep_all_ || named || is_kept(name)) env[name] = value;
    }
    // These say who runs, which is no longer the caller.
    for (const char* name : {"HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "_"}) env.erase(name);
    for (const auto& [name, value] : set) env[name] = value;
    env["SUDO_USER"] = caller_.name;
    env["SUDO_UID"] = std::to_string(caller_.uid);
    env["SUDO_GID"] = std::to_string(caller_.gid);
    std::string command;
    for (const auto& word : line_.ask.argv) command += (command.empty() ? "" : " ") + word;
    env["SUDO_COMMAND"] = command.substr(0, 4096);
  }

  std::span<const std::string> words_;
  const Caller& caller_;
  Line line_;
  bool keep_all_ = false, login_ = false, shell_ = false;
  std::vector<std::string> preserved_;
};

}  // namespace

Result<Line> parse_line(const std::vector<std::string>& arguments, const Caller& caller) {
  return Parser(arguments, caller).parse();
}

}  // namespace atl::sudo
