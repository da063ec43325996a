#include "cli/completion_script.h"

#include <fmt/core.h>

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
    for (const Flag& flag : group) function(flag);
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
      "  local word=${COMP_WORDS[COMP_CWORD]} before= verb= flags= valued= boxes= i\n"
      "  COMPREPLY=()\n"
      "  ((COMP_CWORD == 0)) || before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --url|--state|--config) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) verb=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $verb in\n";
  out +=
      fmt::format("    '') COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", names(verbs));
  out += fmt::format("    help) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                     names(verbs));
  for (const Verb* verb : verbs) {
    out += fmt::format("    {}) flags='{}' valued='{}' boxes={} ;;\n", verb->grammar.verb,
                       flag_words(*verb), with_values(*verb), takes_sandbox(*verb) ? "1" : "");
  }
  return out +
         "  esac\n"
         "  local IFS=$' \\t\\n'\n"
         "  if [[ -n $valued && \"|$valued|\" == *\"|$before|\"* ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  elif [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  elif [[ $verb == completion ]]; then\n"
         "    COMPREPLY=($(compgen -W 'bash zsh fish man' -- \"$word\"))\n"
         "  elif [[ $verb == config && $before == config ]]; then\n"
         "    COMPREPLY=($(compgen -W 'check explain show migrate' -- \"$word\"))\n"
         "  elif [[ -n $boxes ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$(atoll ps -q 2>/dev/null)\" -- \"$word\") $(compgen -f -- "
         "\"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _atoll atoll\n";
}

std::string zsh_script(std::span<const Verb* const> verbs) {
  std::string out =
      "#compdef atoll\n"
      "# zsh completion for atoll; load it with: source <(atoll completion zsh)\n"
      "_atoll_boxes() {\n"
      "  local -a boxes\n"
      "  boxes=(${(f)\"$(atoll ps -q 2>/dev/null)\"})\n"
      "  compadd -a boxes\n"
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
      if (needs_value(flag)) spec += fmt::format(":{}:{}", value, is_path(flag) ? "_files" : " ");
      const std::string assigned = needs_value(flag) ? "=" : "";
      out += " \\\n        " + quoted(fmt::format("*--{}{}{}", flag.name, assigned, spec));
      if (flag.letter != 0) {
        out += " \\\n        " +
               quoted(fmt::format("*-{}{}{}", flag.letter, needs_value(flag) ? "+" : "", spec));
      }
    });
    const bool is_script = verb->grammar.verb == "completion";
    out += fmt::format(" \\\n        '*:: :{}' ;;\n", is_script              ? "(bash zsh fish man)"
                                                      : takes_sandbox(*verb) ? "_atoll_boxes"
                                                                             : "_files");
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
      out += fmt::format(" -d {}\n", quoted(flag.help));
    });
    if (takes_sandbox(*verb)) out += here + " -a '(atoll ps -q 2>/dev/null)'\n";
    if (verb->grammar.verb == "completion") out += here + " -a 'bash zsh fish man'\n";
    if (verb->grammar.tail == Tail::command || verb->grammar.verb == "cp") out += here + " -F\n";
  }
  return out;
}

}  // namespace atl::cli
