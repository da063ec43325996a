// `atoll extension`: drivers that live outside of our tree.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_list.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "drivers/extension/extension_check.h"
#include "drivers/extension/grants.h"
#include "drivers/extension/rights.h"
#include "drivers/extension/settings.h"
#include "drivers/registry.h"
#include "json/json.h"
#include "json/to_value.h"
#include "os/file.h"

namespace atl::cli {
namespace {

using extension::Grant;

constexpr Flag kFlags[] = {
    {"trust-isolation", 0, "LEVEL",
     "how far its isolation is believed: none (the default), process, container, sentry, vm"},
    {"socket", 0, "PATH", "where it listens, instead of what the manifest says"},
    {"set", 0, "NAME=VALUE", "a setting that the manifest describes; may be repeated"},
    {"allow-root", 0, "", "also if it runs as root, or with capabilities"},
    {"force", 'f', "", "rm: also while a daemon has sandboxes of it"},
};

Result<> allow_flags(const Args& args, std::initializer_list<std::string_view> allowed) {
  for (const Flag& flag : kFlags) {
    const bool is_allowed = std::ranges::find(allowed, flag.name) != allowed.end();
    if (args.has(flag.name) && !is_allowed) {
      return usage_error(
          fmt::format("--{} does not go with extension {}", flag.name, args.words()[0]),
          "extension");
    }
  }
  return {};
}

Result<Isolation> trust_from(const Args& args) {
  const auto word = args.find("trust-isolation");
  if (!word) return Isolation::none;
  const auto level = json::find_enum<Isolation>(*word);
  if (level) return *level;
  return usage_error("--trust-isolation: '" + to_printable(*word) +
                         "' is none of none, process, container, sentry, vm",
                     "extension");
}

// Code::permission_denied where it may do more than it should need.
Result<> look_at_rights(const Context& context, const Grant& grant) {
  TRY(const auto rights, extension::get_rights_at(grant.manifest.socket));
  if (rights.are_too_many() && !context.args.has("allow-root")) {
    return Error(Code::permission_denied, extension::warning_of(rights))
        .with_hint(
            "run it as a user of its own, as examples/extension does; if it cannot do without: "
            "--allow-root");
  }
  if (!context.quiet() && !context.json()) tell("atoll: it runs " + extension::in_words(rights));
  return {};
}

// As the manifest and the flags have it, and as its socket is found.
Result<Grant> grant_from(const Args& args, const std::string& file) {
  Grant grant;
  TRY(grant.trust_isolation, trust_from(args));
  TRY(const auto text, os::read_file(AT_FDCWD, file, extension::kLargestManifest));
  TRY(grant.manifest, extension::parse_manifest(text, file, drivers::reserved_names()));
  if (const auto socket = args.find("socket")) {
    grant.manifest.socket = *socket;
    TRY_OK(extension::check_manifest(grant.manifest, drivers::reserved_names()));
  }
  const json::Value& schema = grant.manifest.configuration;
  TRY(const auto given, extension::parse_settings(schema, args.all("set")));
  TRY(grant.settings, extension::complete(schema, given));
  TRY(grant.uid, extension::check_socket(grant.manifest.socket, std::nullopt));
  grant.added_at = to_rfc3339(system_clock().wall());
  return grant;
}

json::Value view_of(const Grant& grant) {
  json::Value view = json::to_value(grant);
  json::Object& object = view.as_object();
  object["settings"] = extension::without_secrets(grant.manifest.configuration, grant.settings);
  return view;
}

Result<> print_json(const json::Value& value) {
  std::string text;
  json::write_value(text, value);
  return print(text + "\n");
}

// A daemon reads what was added when it starts.
void tell_restart(Context& context) {
  if (context.quiet() || context.json()) return;
  const auto search = find_target(context.args, find_variable);
  if (!search || !search->found) return;
  tell("atoll: the daemon takes notice when it is started again; its sandboxes go on meanwhile");
}

Result<int> add(Context& context) {
  TRY_OK(allow_flags(context.args, {"trust-isolation", "socket", "set", "allow-root"}));
  TRY(const std::string state, state_directory_from(context.args, find_variable));
  TRY(const Grant grant, grant_from(context.args, context.args.words()[1]));
  TRY_OK(look_at_rights(context, grant));
  TRY_OK(extension::write_grant(state, grant));
  if (context.json()) {
    TRY_OK(print_json(view_of(grant)));
    return 0;
  }
  TRY_OK(print(grant.manifest.name + "\n"));
  const Isolation claimed = grant.manifest.capabilities.isolation;
  if (!context.quiet() && claimed > grant.trust_isolation) {
    tell(fmt::format(
        "atoll: it claims {}, and is believed {}; if you know better: "
        "--trust-isolation {}",
        json::name_of(claimed), json::name_of(grant.trust_isolation), json::name_of(claimed)));
  }
  tell_restart(context);
  return 0;
}

Result<int> list(Context& context) {
  TRY_OK(allow_flags(context.args, {}));
  TRY(const std::string state, state_directory_from(context.args, find_variable));
  const auto read = extension::read_grants(state, drivers::reserved_names());
  for (const Error& why : read.unreadable) tell_error(why, "");
  if (context.json()) {
    json::Array views;
    for (const Grant& grant : read.grants) views.push_back(view_of(grant));
    TRY_OK(print_json(views));
    return read.unreadable.empty() ? 0 : 1;
  }
  Table rows{{"NAME", "VERSION", "CLAIMS", "BELIEVED", "RUNS AT", "SOCKET", "WHAT IT IS"}};
  std::string names;
  for (const Grant& grant : read.grants) {
    const extension::Manifest& manifest = grant.manifest;
    const Isolation claimed = manifest.capabilities.isolation;
    names += manifest.name + "\n";
    rows.push_back({manifest.name, single_line(manifest.version),
                    std::string(json::name_of(claimed)),
                    std::string(json::name_of(std::min(claimed, grant.trust_isolation))),
                    std::string(json::name_of(*manifest.capabilities.placement)),
                    single_line(manifest.socket), single_line(manifest.summary)});
  }
  TRY_OK(print(context.quiet() ? names : table_for_stdout(rows)));
  return read.unreadable.empty() ? 0 : 1;
}

Result<int> show(Context& context) {
  TRY_OK(allow_flags(context.args, {}));
  TRY(const std::string state, state_directory_from(context.args, find_variable));
  TRY(const Grant grant,
      extension::read_grant(state, context.args.words()[1], drivers::reserved_names()));
  if (context.json()) {
    TRY_OK(print_json(view_of(grant)));
  } else {
    TRY_OK(print(to_pretty(view_of(grant)) + "\n"));
  }
  return 0;
}

Result<> check_unused(Context& context, const std::string& name) {
  if (context.args.has("force")) return {};
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) return {};
  TRY(const auto client, connect_client(context, *search.found));
  TRY(const auto sandboxes, fetch_sandboxes(*client, "driver=" + name));
  if (sandboxes.empty()) return {};
  return Error(Code::conflict,
               fmt::format("the daemon has {} sandboxes of {}", sandboxes.size(), name))
      .with_hint("remove them first (atoll rm BOX), or say --force: nobody ends them then");
}

Result<int> remove(Context& context) {
  TRY_OK(allow_flags(context.args, {"force"}));
  const std::string& name = context.args.words()[1];
  TRY(const std::string state, state_directory_from(context.args, find_variable));
  TRY_OK(extension::is_extension_name(name) ? check_unused(context, name) : Result<>());
  TRY_OK(extension::remove_grant(state, name));
  if (context.json()) {
    TRY_OK(print("{\"ok\":true}\n"));
    return 0;
  }
  if (!context.quiet()) TRY_OK(print(name + "\n"));
  tell_restart(context);
  return 0;
}

// A directory that is gone when this is.
class Scratch final {
 public:
  static Result<std::unique_ptr<Scratch>> create() {
    std::unique_ptr<Scratch> made(new Scratch);
    if (mkdtemp(made->path_.data()) == nullptr) return os_error("making", made->path_);
    return made;
  }
  ~Scratch() { (void)os::remove_tree(AT_FDCWD, path_); }
  const std::string& path() const { return path_; }

 private:
  Scratch() = default;
  std::string path_ = "/tmp/atoll-check-XXXXXX";
};

std::string to_text(const std::vector<extension::CheckStep>& steps) {
  std::string text;
  for (const auto& step : steps) {
    text += (step.failed ? inked_for(STDOUT_FILENO, "✗ ", Ink::bad)
                         : inked_for(STDOUT_FILENO, "✓ ", Ink::good)) +
            step.what + "\n";
    if (!step.failed) continue;
    text += "    " + single_line(step.failed->message()) + "\n";
    if (!step.failed->hint().empty())
      text += "    hint: " + single_line(step.failed->hint()) + "\n";
  }
  return text;
}

json::Value to_view(const std::vector<extension::CheckStep>& steps) {
  json::Array views;
  for (const auto& step : steps) {
    json::Object view{{"what", step.what}, {"holds", !step.failed}};
    if (step.failed) view["because"] = step.failed->message();
    views.push_back(std::move(view));
  }
  return views;
}

Result<int> check(Context& context) {
  const std::string& word = context.args.words()[1];
  Grant grant;
  if (extension::is_extension_name(word)) {
    TRY_OK(allow_flags(context.args, {"allow-root"}));
    TRY(const std::string state, state_directory_from(context.args, find_variable));
    TRY(grant, extension::read_grant(state, word, drivers::reserved_names()));
  } else {
    TRY_OK(allow_flags(context.args, {"trust-isolation", "socket", "set", "allow-root"}));
    TRY(grant, grant_from(context.args, word));
  }
  TRY(const std::string libexec, context.program.find_libexec());
  TRY(const auto scratch, Scratch::create());
  asio::io_context loop(1);
  TRY(const auto steps,
      run_task(loop, extension::check_extension(loop.get_executor(),
                                                {.grant = std::move(grant),
                                                 .directory = scratch->path(),
                                                 .agent = libexec + "/atoll-agent",
                                                 .allows_root = context.args.has("allow-root")})));
  // What was told to stop comes to its end.
  loop.restart();
  loop.poll();
  const bool holds =
      std::ranges::none_of(steps, [](const auto& step) { return step.failed.has_value(); });
  if (context.json()) {
    TRY_OK(print_json(to_view(steps)));
  } else if (!context.quiet()) {
    TRY_OK(print(to_text(steps)));
  }
  return holds ? 0 : 1;
}

constexpr Subverb kSubverbs[] = {{"add", 1, 1, add},
                                 {"ls", 0, 0, list},
                                 {"show", 1, 1, show},
                                 {"check", 1, 1, check},
                                 {"rm", 1, 1, remove}};

Result<int> run_extension(Context& context) { return run_subverb(context, "extension", kSubverbs); }

}  // namespace

const Verb kExtensionVerb{
    .grammar = {.verb = "extension",
                .usage = "[FLAGS] add MANIFEST | ls | show NAME | check NAME|MANIFEST | rm NAME",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 2},
    .group = kDaemonGroup,
    .summary = "Add drivers that live outside of Atoll",
    .more =
        "An extension is a program that you start; Atoll speaks to it on its socket. MANIFEST is "
        "its YAML file.\n"
        "check makes sandboxes, ends them, and ends with 1 if the protocol is not kept. A daemon "
        "takes notice of\n"
        "what was added or removed when it is started again. docs/extensions.md tells how to "
        "write one.",
    .run = run_extension};

}  // namespace atl::cli
