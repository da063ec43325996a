// `atoll config`: what configuration files say, whether it is right, and where each value comes
// from.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/configured.h"
#include "cli/exec_flags.h"
#include "cli/format.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/scrubber.h"
#include "cli/table.h"
#include "cli/target.h"
#include "cli/verbs.h"
#include "config/migrate.h"
#include "config/project_rule.h"
#include "json/encode.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::cli {
namespace {

using config::Entry;
using config::Finding;
using config::From;
using config::Layer;

constexpr int kExitProblems = 1;

constexpr Flag kFlags[] = {
    {"portable", 0, "", "check: drivers that are not built here are no error"},
    {"write", 0, "", "migrate: write atoll.yaml beside the file instead of printing"},
};

std::string word_at(const Args& args, size_t index) {
  return index < args.words().size() ? args.words()[index] : "";
}

// A file that was named as a word, or those that are found.
Result<Configuration> read_files(const Args& args) {
  const std::string file = word_at(args, 1);
  if (file.empty()) return read_configuration(args, Asking::for_sandbox);
  Configuration configuration;
  TRY(auto layer, config::read_layer({From::named, file}, find_variable));
  configuration.layers.push_back(std::move(layer));
  configuration.effective = config::merge(configuration.layers, find_variable);
  return configuration;
}

// What is right in itself, and may not come from a file that was only found: `run` would refuse it.
// A file that was named here may be one that `run` finds, and may be one that it is given.
void add_refusals(const Layer& layer, std::vector<Finding>& findings) {
  if (layer.from != From::project && layer.from != From::named) return;
  for (const config::Setting& setting : layer.settings.all) {
    const auto refused = config::refuse_for_project(setting, layer.directory);
    if (!refused) continue;
    const bool found_for_run =
        layer.from == From::project && setting.key->use != config::Use::serve;
    const auto severity = found_for_run                 ? config::Severity::error
                          : layer.from == From::project ? config::Severity::warning
                                                        : config::Severity::note;
    findings.push_back({severity, config::Problem::host_control, layer.settings.file, setting.line,
                        setting.column, "", refused->message(), refused->hint()});
  }
}

std::vector<Finding> findings_of(Context& context, Configuration& configuration) {
  std::vector<Finding> findings;
  const bool portable = context.args.has("portable");
  for (Layer& layer : configuration.layers) {
    config::check_settings(layer.settings, context.program.driver_names());
    if (config::has_other_name(layer.path)) {
      findings.push_back({config::Severity::note, config::Problem::other_spelling,
                          layer.settings.file, 0, 0, "", "it is read as atoll.yaml",
                          "atoll config migrate --write makes one"});
    }
    for (const Finding& finding : layer.settings.findings) {
      if (portable && finding.problem == config::Problem::not_built) continue;
      findings.push_back(finding);
    }
    if (!portable) add_refusals(layer, findings);
  }
  for (const Finding& finding : configuration.effective.findings) findings.push_back(finding);
  return findings;
}

Result<int> check(Context& context) {
  TRY(Configuration configuration, read_files(context.args));
  const auto findings = findings_of(context, configuration);
  const bool fine = !config::has_errors(findings);
  std::string out;
  if (context.json()) {
    out = fmt::format(R"({{"ok":{},"files":[)", fine);
    for (const Layer& layer : configuration.layers) {
      if (out.back() != '[') out += ',';
      json::write_string(out, layer.path);
    }
    out += "],\"findings\":" + config::to_json(findings) + "}\n";
  } else {
    for (const Finding& finding : findings) {
      const bool shown = !context.quiet() || finding.severity == config::Severity::error;
      if (shown) out += config::to_text(finding);
    }
    if (!context.quiet() && configuration.layers.empty()) out += "there is no configuration file\n";
    for (const Layer& layer : configuration.layers) {
      const bool wrong = std::ranges::any_of(findings, [&](const Finding& finding) {
        return finding.severity == config::Severity::error && finding.file == layer.settings.file;
      });
      if (!context.quiet() && !wrong) out += to_printable(layer.path) + ": understood\n";
    }
  }
  TRY_OK(print(out));
  return fine ? 0 : kExitProblems;
}

// What was typed stands above all files.
void add_flags(const Args& args, config::Effective& effective) {
  for (const config::Key& key : config::all_keys()) {
    const bool single = key.type != config::Type::variables && key.type != config::Type::volumes;
    const bool sandboxes = key.section == "sandbox" || key.use == config::Use::everyone;
    if (key.flag.empty() || !single || !sandboxes || !args.given(key.flag)) continue;
    const std::string path = config::path_of(key);
    Entry entry{.path = path,
                .key = &key,
                .value = json::Value(*args.find(key.flag)),
                .from = From::flag,
                .where = "--" + std::string(key.flag)};
    if (Entry* found = effective.find(path)) {
      *found = std::move(entry);
    } else {
      effective.entries.push_back(std::move(entry));
    }
  }
}

// Every setting that does something, those that hold by default as well.
std::vector<Entry> explained(const config::Effective& effective, const std::string& only) {
  std::vector<Entry> entries;
  for (const config::Key& key : config::all_keys()) {
    const std::string path = config::path_of(key);
    size_t before = entries.size();
    for (const Entry& entry : effective.entries) {
      if (entry.key == &key) entries.push_back(entry);
    }
    if (entries.size() > before || key.use == config::Use::nobody) continue;
    std::string usual(key.usual.empty() ? "-" : key.usual);
    std::erase(usual, '`');
    entries.push_back(
        {.path = path, .key = &key, .value = json::Value(usual), .from = From::usual});
  }
  std::erase_if(entries, [&](const Entry& entry) {
    return !only.empty() && entry.path != only && !entry.path.starts_with(only + ".");
  });
  return entries;
}

std::string source_of(const Entry& entry) {
  std::string text(config::to_string(entry.from));
  if (!entry.where.empty()) text += " " + entry.where;
  if (entry.refused) text += "; refused: " + entry.refused->message();
  return text;
}

std::string to_json(const std::vector<Entry>& entries) {
  std::string out = "[";
  for (const Entry& entry : entries) {
    if (out.size() > 1) out += ',';
    out += R"({"setting":)";
    json::write_string(out, entry.path);
    out += R"(,"value":)";
    if (entry.is_secret) {
      out += "null";
    } else {
      json::write_value(out, entry.value);
    }
    out += fmt::format(R"(,"secret":{},"from":)", entry.is_secret);
    json::write_string(out, config::to_string(entry.from));
    out += R"(,"where":)";
    json::write_string(out, entry.where);
    out += R"(,"refused":)";
    json::write_string(out, entry.refused ? entry.refused->message() : "");
    out += '}';
  }
  return out + "]\n";
}

Result<Configuration> read_sound(const Args& args) {
  TRY(Configuration configuration, read_configuration(args, Asking::for_sandbox));
  for (const Layer& layer : configuration.layers) TRY_OK(to_result(layer.settings.findings));
  TRY_OK(to_result(configuration.effective.findings));
  return configuration;
}

Result<int> explain_values(Context& context) {
  const std::string only = word_at(context.args, 1);
  TRY(Configuration configuration, read_sound(context.args));
  add_flags(context.args, configuration.effective);
  const auto entries = explained(configuration.effective, only);
  if (entries.empty()) {
    std::vector<std::string> known;
    for (const config::Key& key : config::all_keys()) known.push_back(config::path_of(key));
    const std::string near = did_you_mean(only, known);
    return usage_error("no setting is called " + to_printable(only))
        .with_hint(near.empty() ? "atoll config explain lists them" : "did you mean " + near + "?");
  }
  if (context.json()) {
    TRY_OK(print(to_json(entries)));
    return 0;
  }
  // The second line of defence: a value may hold a secret though no name says so.
  Scrubber scrubber;
  Table rows{{"SETTING", "VALUE", "FROM"}};
  for (const Entry& entry : entries) {
    const std::string source = single_line(source_of(entry));
    const Ink ink = source == "default" ? Ink::dim : Ink::plain;
    rows.push_back({single_line(entry.path),
                    Cell(single_line(scrubber.scrub(config::to_shown(entry))), ink),
                    Cell(source, ink)});
  }
  TRY_OK(print(only.empty() ? table_for_stdout(rows) : format_table(rows)));
  return 0;
}

// Settings by their section, secrets left out.
json::Object to_tree(const config::Effective& effective) {
  json::Object tree;
  for (const Entry& entry : effective.entries) {
    if (entry.refused) continue;
    json::Object* at = &tree;
    // A variable's name may have dots in it, and is one step all the same.
    const std::string_view path = entry.path;
    const std::string_view owner = path.substr(0, path.size() - entry.name.size());
    size_t begin = 0;
    for (size_t dot = owner.find('.'); dot != std::string_view::npos;
         dot = owner.find('.', begin)) {
      json::Value& inner = (*at)[boost::json::string_view(path.data() + begin, dot - begin)];
      if (!inner.is_object()) inner.emplace_object();
      at = &inner.get_object();
      begin = dot + 1;
    }
    (*at)[boost::json::string_view(path.data() + begin, path.size() - begin)] =
        entry.is_secret ? json::Value("(secret)") : entry.value;
  }
  return tree;
}

void append_yaml(std::string& out, const json::Object& object, const std::string& indent) {
  for (const auto& member : object) {
    out += indent + config::to_yaml_scalar(json::Value(member.key())) + ":";
    if (const auto* inner = member.value().if_object()) {
      out += "\n";
      append_yaml(out, *inner, indent + "  ");
    } else {
      out += " " + config::to_yaml_scalar(member.value()) + "\n";
    }
  }
}

Result<int> show(Context& context) {
  TRY(Configuration configuration, read_sound(context.args));
  for (const Entry& entry : configuration.effective.entries) {
    if (entry.refused && !context.quiet())
      tell("atoll: left out: " + single_line(entry.refused->message()));
  }
  const json::Object tree = to_tree(configuration.effective);
  std::string out;
  if (context.json()) {
    out = json::encode(json::Value(tree)) + "\n";
  } else {
    append_yaml(out, tree, "");
  }
  TRY_OK(print(out));
  return 0;
}

Result<> write_beside(const Context& context, const Layer& layer, const std::string& text) {
  const size_t slash = layer.path.rfind('/');
  const std::string name = slash == std::string::npos ? layer.path : layer.path.substr(slash + 1);
  TRY(const auto directory,
      os::open_at(AT_FDCWD, layer.directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (name != "atoll.yaml" &&
      faccessat(directory.get(), "atoll.yaml", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    return Error(Code::already_exists, "there is an atoll.yaml already")
        .with("--write")
        .with_hint("look at both, and remove one");
  }
  // It may hold secrets that only its owner should read.
  struct stat info{};
  if (fstatat(directory.get(), name.c_str(), &info, 0) != 0)
    return os_error("looking at", layer.path);
  TRY_OK(os::replace_file(directory.get(), "atoll.yaml", text, info.st_mode & 0777));
  if (!context.quiet()) {
    tell(fmt::format("atoll: written: {}{}", to_printable(layer.directory), "atoll.yaml"));
    if (name != "atoll.yaml") tell(fmt::format("atoll: {} is no longer read", to_printable(name)));
  }
  return {};
}

Result<int> migrate(Context& context) {
  TRY(Configuration configuration, read_files(context.args));
  if (configuration.layers.empty()) {
    return Error(Code::not_found, "there is no configuration file")
        .with_hint("name one: atoll config migrate FILE");
  }
  const Layer& layer = configuration.layers.front();
  TRY_OK(to_result(layer.settings.findings));
  TRY(const std::string before, os::read_file(AT_FDCWD, layer.path, config::kLargestFile));
  const std::string after = config::migrate(layer.settings, before);
  if (context.args.has("write")) {
    TRY_OK(write_beside(context, layer, after));
  } else if (context.json()) {
    std::string out = R"({"file":)";
    json::write_string(out, layer.path);
    out += R"(,"text":)";
    json::write_string(out, after);
    TRY_OK(print(out + "}\n"));
  } else {
    TRY_OK(print(after));
  }
  return 0;
}

Result<int> run_config(Context& context) {
  const std::string what = context.args.words().front();
  if (what == "check") return check(context);
  if (what == "explain") return explain_values(context);
  if (what == "show") return show(context);
  if (what == "migrate") return migrate(context);
  const std::string near = did_you_mean(what, {"check", "explain", "show", "migrate"});
  return usage_error("atoll config has no " + to_printable(what))
      .with_hint(near.empty() ? "it has check, explain, show and migrate"
                              : "did you mean " + near + "?");
}

}  // namespace

const Verb kConfigVerb{
    .grammar = {.verb = "config",
                .usage = "check|explain|show|migrate [FLAGS] [FILE|SETTING]",
                .flags = {kFlags, kSandboxFlags, kEnvFlags, kPlaceFlags, kExecFlags,
                          kEverywhereFlags},
                .least_words = 1,
                .most_words = 2},
    .group = kDaemonGroup,
    .summary = "Check configuration files, and tell where each value comes from",
    .more =
        "check [FILE] finds what is wrong (exit code 1); explain [SETTING] shows every value and "
        "its "
        "source;\n"
        "show prints what holds; migrate [FILE] writes a file in Atoll's own words. Flags of a "
        "sandbox are\n"
        "taken so that explain can tell what they would override. docs/configuration.md has all "
        "settings.",
    .run = run_config};

}  // namespace atl::cli
