#include "cli/completion_script.h"

#include <fmt/core.h>

#include <set>

#include "core/engine.h"
#include "driver/capabilities.h"
#include "json/describe.h"

namespace atl::cli {
namespace {

// Between single quotes.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// In the quoted specifications of zsh these begin something.
std::string for_zsh(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

template <typename Function>
void for_each_flag(const Verb& verb, Function function) {
  for (const auto& group : verb.grammar.flags) {
    for (const Flag& flag : group) {
      if (is_meant(verb.grammar, flag)) function(flag);
    }
  }
}

std::string names(std::span<const Verb* const> verbs) {
  std::string out = "help";
  for (const Verb* verb : verbs) out += " " + std::string(verb->grammar.verb);
  return out;
}

bool needs_value(const Flag& flag) { return !flag.value.empty() && flag.implied.empty(); }

bool is_path(const Flag& flag) {
  return flag.value == "FILE" || flag.value == "DIR" || flag.value == "PATH";
}

// What a shell may offer in one place: these words, or what this command prints.
struct Offer {
  std::string words;
  std::string_view command = {};

  bool is_empty() const { return words.empty() && command.empty(); }
};

constexpr std::string_view kAskForBoxes = "atoll completion boxes 2>/dev/null";
constexpr std::string_view kAskForDrivers = "atoll drivers -q 2>/dev/null";

constexpr std::string_view kAskForTemplates = "atoll template ls -q 2>/dev/null";
constexpr std::string_view kAskForSnapshots = "atoll snapshot ls -q 2>/dev/null";

constexpr std::string_view kAskForProfiles = "atoll profile ls -q 2>/dev/null";

template <typename Enum>
std::string words_of() {
  std::string out;
  for (const std::string_view word : json::detail::kEnumNames<Enum>) {
    out += (out.empty() ? "" : " ") + std::string(word);
  }
  return out;
}

// A flag means the same wherever it is taken.
Offer offer_for(const Flag& flag) {
  if (flag.name == "driver") return {"", kAskForDrivers};
  if (flag.name == "box") return {"", kAskForBoxes};
  if (flag.name == "min-isolation") return {words_of<Isolation>()};
  if (flag.name == "network") return {words_of<Network>()};
  if (flag.name == "into") return {words_of<State>()};
  if (flag.name == "template") return {"", kAskForTemplates};
  if (flag.name == "snapshot") return {"", kAskForSnapshots};
  if (flag.name == "profile") return {"", kAskForProfiles};
  if (flag.name == "as") return {"", kAskForDrivers};
  if (flag.name == "placement") return {words_of<Placement>()};
  if (flag.name == "scope") return {words_of<SessionScope>()};
  const bool is_end = flag.name == "on-expire" || flag.name == "on-idle" || flag.name == "on-last";
  if (is_end) return {words_of<OnEnd>()};
  if (flag.name == "on-failure") return {words_of<OnFailure>()};
  if (flag.name == "lifecycle") return {words_of<Life>()};
  if (flag.name == "persistence") return {words_of<Persistence>()};
  if (flag.name == "checkpoint") return {words_of<SnapshotKind>()};
  if (flag.name == "role") return {"admin member viewer agent"};
  return {};
}

// For the first word behind a verb.
Offer offer_for(const Verb& verb) {
  const std::string_view name = verb.grammar.verb;
  if (name == "completion") return {"bash zsh fish man"};
  if (name == "config") return {"check explain show migrate"};
  if (name == "keys") return {"create list revoke"};
  if (name == "template") return {"add ls show rm rollback"};
  if (name == "snapshot") return {"create ls show rm"};
  if (name == "session") return {"open ls show renew close"};
  if (name == "profile") return {"ls show check diff explain"};
  if (name == "doctor") return {"", kAskForDrivers};
  if (takes_sandbox(verb)) return {"", kAskForBoxes};
  return {};
}

bool takes_files(const Verb& verb) {
  return verb.grammar.verb == "cp" || verb.grammar.verb == "config" ||
         verb.grammar.verb == "template" || verb.grammar.verb == "profile" ||
         verb.grammar.tail == Tail::command;
}

// Every word may be a sandbox, not only the first.
bool takes_sandboxes(const Verb& verb) {
  return takes_sandbox(verb) && verb.grammar.tail == Tail::words;
}

std::string for_shell(const Offer& offer, std::string_view open, std::string_view close) {
  return offer.command.empty() ? quoted(offer.words)
                               : fmt::format("{}{}{}", open, offer.command, close);
}

std::string flag_words(const Verb& verb) {
  std::string out;
  for_each_flag(verb, [&](const Flag& flag) {
    out += fmt::format("{}--{}", out.empty() ? "" : " ", flag.name);
    if (flag.letter != 0) out += fmt::format(" -{}", flag.letter);
  });
  return out;
}

// Flags after which a value comes, as a pattern of `case`.
std::string with_values(const Verb& verb) {
  std::string out;
  for_each_flag(verb, [&](const Flag& flag) {
    if (!needs_value(flag)) return;
    out += fmt::format("{}--{}", out.empty() ? "" : "|", flag.name);
    if (flag.letter != 0) out += fmt::format("|-{}", flag.letter);
  });
  return out;
}

}  // namespace

bool takes_sandbox(const Verb& verb) {
  return verb.grammar.usage.find("BOX") != std::string_view::npos;
}

std::string bash_script(std::span<const Verb* const> verbs) {
  std::string out =
      "# bash completion for atoll; load it with: source <(atoll completion bash)\n"
      "_atoll() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before= verb= flags= valued= files= every= offer= i "
      "seen=0\n"
      "  local IFS=$' \\t\\n'\n"
      "  COMPREPLY=()\n"
      "  ((COMP_CWORD == 0)) || before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  [[ $word != '=' ]] || word=\n"
      "  [[ $before != '=' ]] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --url|--state|--config) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) verb=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $verb in\n";
  out += fmt::format("    ''|help) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                     names(verbs));
  for (const Verb* verb : verbs) {
    out += fmt::format("    {}) flags='{}' valued='{}' files={} every={} ;;\n", verb->grammar.verb,
                       flag_words(*verb), with_values(*verb), takes_files(*verb) ? "1" : "",
                       takes_sandboxes(*verb) ? "1" : "");
  }
  out +=
      "  esac\n"
      "  # How many words stand before this one, without flags and their values.\n"
      "  for ((i++; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} == -- ]]; then seen=99\n"
      "    elif [[ \"|$valued|\" == *\"|${COMP_WORDS[i]}|\"* ]]; then\n"
      "      ((i++))\n"
      "      [[ ${COMP_WORDS[i]} != '=' ]] || ((i++))\n"
      "    elif [[ ${COMP_WORDS[i]} != -* ]]; then ((seen++)); fi\n"
      "  done\n"
      "  if [[ -n $valued && \"|$valued|\" == *\"|$before|\"* ]]; then\n"
      "    case $before in\n";
  std::set<std::string_view> told;
  for (const Verb* verb : verbs) {
    for_each_flag(*verb, [&](const Flag& flag) {
      const Offer offer = offer_for(flag);
      if (offer.is_empty() || !told.insert(flag.name).second) return;
      out += fmt::format("      --{}) offer={} ;;\n", flag.name, for_shell(offer, "$(", ")"));
    });
  }
  out +=
      "      *) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    esac\n"
      "  elif [[ $word == -* && $seen -lt 99 ]]; then\n"
      "    offer=$flags\n"
      "  elif ((seen == 0)) || [[ -n $every ]]; then\n"
      "    case $verb in\n";
  for (const Verb* verb : verbs) {
    const Offer offer = offer_for(*verb);
    if (offer.is_empty()) continue;
    out += fmt::format("      {}) offer={} ;;\n", verb->grammar.verb, for_shell(offer, "$(", ")"));
  }
  return out +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$offer\" -- \"$word\"))\n"
         "  if [[ -z $offer || ( $verb == cp && ${#COMPREPLY[@]} == 0 ) ]] && [[ -n $files ]]; "
         "then\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _atoll atoll\n";
}

namespace {

std::string zsh_action(const Offer& offer) {
  if (offer.command == kAskForBoxes) return "_atoll_boxes";
  if (offer.command == kAskForDrivers) return "_atoll_drivers";
  return "(" + offer.words + ")";
}

std::string action_of(const Flag& flag) {
  const Offer offer = offer_for(flag);
  if (!offer.is_empty()) return zsh_action(offer);
  return is_path(flag) ? "_files" : " ";
}

}  // namespace

std::string zsh_script(std::span<const Verb* const> verbs) {
  std::string out =
      "#compdef atoll\n"
      "# zsh completion for atoll; load it with: source <(atoll completion zsh)\n"
      "_atoll_boxes() {\n"
      "  local -a boxes\n"
      "  boxes=(${(f)\"$(atoll completion boxes 2>/dev/null)\"})\n"
      "  compadd -a boxes\n"
      "}\n"
      "_atoll_drivers() {\n"
      "  local -a drivers\n"
      "  drivers=(${(f)\"$(atoll drivers -q 2>/dev/null)\"})\n"
      "  compadd -a drivers\n"
      "}\n"
      "_atoll() {\n"
      "  local -a verbs\n"
      "  verbs=(\n"
      "    'help:Show what a verb does'\n";
  for (const Verb* verb : verbs) {
    out += fmt::format("    {}\n",
                       quoted(fmt::format("{}:{}", verb->grammar.verb, for_zsh(verb->summary))));
  }
  out +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $verb in\n"
      "    help) _describe verb verbs ;;\n";
  for (const Verb* verb : verbs) {
    out += fmt::format("    {})\n      _arguments -s", verb->grammar.verb);
    for_each_flag(*verb, [&](const Flag& flag) {
      std::string spec = fmt::format("[{}]", for_zsh(flag.help));
      const std::string value = for_zsh(flag.value);
      if (needs_value(flag)) spec += fmt::format(":{}:{}", value, action_of(flag));
      const std::string assigned = needs_value(flag) ? "=" : "";
      out += " \\\n        " + quoted(fmt::format("*--{}{}{}", flag.name, assigned, spec));
      if (flag.letter != 0) {
        out += " \\\n        " +
               quoted(fmt::format("*-{}{}{}", flag.letter, needs_value(flag) ? "+" : "", spec));
      }
    });
    const Offer offer = offer_for(*verb);
    const std::string first = offer.is_empty() ? "_files" : zsh_action(offer);
    const std::string rest = takes_sandboxes(*verb) && !takes_files(*verb) ? first : "_files";
    out += fmt::format(" \\\n        '1: :{}' '*:: :{}' ;;\n", first, rest);
  }
  return out +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _atoll ]]; then _atoll \"$@\"; else compdef _atoll atoll; fi\n";
}

std::string fish_script(std::span<const Verb* const> verbs) {
  std::string out =
      "# fish completion for atoll; load it with: atoll completion fish | source\n"
      "complete -c atoll -f\n"
      "complete -c atoll -n __fish_use_subcommand -a help -d 'Show what a verb does'\n";
  for (const Verb* verb : verbs) {
    out += fmt::format("complete -c atoll -n __fish_use_subcommand -a {} -d {}\n",
                       verb->grammar.verb, quoted(verb->summary));
  }
  for (const Verb* verb : verbs) {
    const std::string here =
        fmt::format("complete -c atoll -n '__fish_seen_subcommand_from {}'", verb->grammar.verb);
    for_each_flag(*verb, [&](const Flag& flag) {
      out += fmt::format("{} -l {}", here, flag.name);
      if (flag.letter != 0) out += fmt::format(" -s {}", flag.letter);
      if (needs_value(flag)) out += is_path(flag) ? " -r -F" : " -x";
      if (const Offer offer = offer_for(flag); !offer.is_empty()) {
        out += " -a " + for_shell(offer, "'(", ")'");
      }
      out += fmt::format(" -d {}\n", quoted(flag.help));
    });
    if (const Offer offer = offer_for(*verb); !offer.is_empty()) {
      out += here + " -a " + for_shell(offer, "'(", ")'") + "\n";
    }
    if (takes_files(*verb)) out += here + " -F\n";
  }
  return out;
}

}  // namespace atl::cli
