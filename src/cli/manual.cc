#include "cli/manual.h"

#include <fmt/core.h>

namespace atl::cli {
namespace {

// As text: dashes stay dashes, and no line begins a request.
std::string plain(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

void append_flag(std::string& out, const Flag& flag) {
  out += ".TP\n";
  if (flag.letter != 0) out += fmt::format("\\fB\\-{}\\fR, ", flag.letter);
  out += fmt::format("\\fB\\-\\-{}\\fR", plain(flag.name));
  if (!flag.value.empty()) {
    out += flag.implied.empty() ? fmt::format(" \\fI{}\\fR", plain(flag.value))
                                : fmt::format("[=\\fI{}\\fR]", plain(flag.value));
  }
  out += "\n" + plain(flag.help) + "\n";
}

bool is_everywhere(const std::span<const Flag>& group) {
  return group.data() == kEverywhereFlags.data();
}

}  // namespace

std::string manual_page(std::span<const Verb* const> verbs, std::string_view version) {
  std::string out =
      fmt::format(".TH ATOLL 1 \"\" \"atoll {}\" \"User Commands\"\n", plain(version));
  out +=
      ".SH NAME\natoll \\- run code that nobody vouched for in a sandbox\n"
      ".SH SYNOPSIS\n.B atoll\n\\fIVERB\\fR [\\fIFLAGS\\fR] ...\n"
      ".SH DESCRIPTION\n"
      "Runs commands in sandboxes. Without a daemon \\fBatoll run\\fR makes a sandbox for one "
      "command "
      "and\nremoves it; with \\fBatoll serve\\fR sandboxes live on, have names, and are used from "
      "anywhere\nover HTTP.\n"
      ".SH FLAGS OF EVERY VERB\n";
  for (const Flag& flag : kEverywhereFlags) append_flag(out, flag);
  std::string_view headline;
  for (const Verb* verb : verbs) {
    if (verb->group.headline() != headline) {
      headline = verb->group.headline();
      out += fmt::format(".SH VERBS: {}\n", headline);
    }
    out += fmt::format(".SS \"atoll {} {}\"\n{}.\n", plain(verb->grammar.verb),
                       plain(verb->grammar.usage), plain(verb->summary));
    for (const auto& group : verb->grammar.flags) {
      if (is_everywhere(group)) continue;
      for (const Flag& flag : group) {
        if (is_meant(verb->grammar, flag)) append_flag(out, flag);
      }
    }
    if (!verb->more.empty()) out += ".PP\n.nf\n" + plain(verb->more) + "\n.fi\n";
  }
  return out +
         ".SH EXIT STATUS\n"
         "The program's own; 124 timeout; 125 Atoll failed or refused; 126 denied or not "
         "executable;\n"
         "127 not found; 128+N ended by signal N; 2 wrong usage.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n\\fBATOLL_URL\\fR\nThe daemon: http://host:port, https://host, unix:/path.\n"
         ".TP\n\\fBATOLL_STATE\\fR\nThe state directory whose daemon is meant.\n"
         ".TP\n\\fBATOLL_API_KEY\\fR\nThe key to show it.\n"
         ".TP\n\\fBATOLL_CONFIG\\fR\nThe configuration instead of the project's atoll.yaml; none = "
         "no "
         "file.\n"
         ".TP\n\\fBNO_COLOR\\fR\nNo colours, whatever the terminal can.\n";
}

}  // namespace atl::cli
