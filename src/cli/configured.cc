#include "cli/configured.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/report.h"
#include "cli/target.h"
#include "config/kinds.h"

namespace atl::cli {
namespace {

using config::Entry;
using config::From;
using config::Use;

constexpr std::string_view kSystemDirectory = "/etc/atoll";

std::vector<Use> uses_of(std::string_view verb) {
  if (verb == "run" || verb == "map") return {Use::sandbox, Use::command, Use::everyone};
  if (verb == "create" || verb == "plan") return {Use::sandbox, Use::everyone};
  if (verb == "exec") return {Use::command, Use::everyone};
  if (verb == "serve") return {Use::serve, Use::everyone};
  if (verb == "config" || verb == "completion") return {};
  return {Use::everyone};
}

bool has(const std::vector<Use>& uses, Use use) {
  return std::ranges::find(uses, use) != uses.end();
}

std::string current_directory() {
  const std::unique_ptr<char, decltype(&free)> here(getcwd(nullptr, 0), &free);
  return here != nullptr && here.get()[0] == '/' ? std::string(here.get()) : std::string();
}

// One that is set to nothing is set.
std::optional<std::string> find_any_variable(std::string_view name) {
  const char* value = getenv(std::string(name).c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

config::Places places_for(const Args& args, Asking asking) {
  config::Places places;
  places.named = args.find("config").value_or(find_variable("ATOLL_CONFIG").value_or(""));
  const auto home = home_directory(find_variable);
  if (home) places.home = *home;
  const auto base = find_variable("XDG_CONFIG_HOME");
  if (base && base->starts_with('/')) {
    places.user_directory = *base;
  } else if (home) {
    places.user_directory = *home + "/.config";
  }
  places.system_directory = kSystemDirectory;
  if (asking == Asking::for_sandbox) places.current_directory = current_directory();
  return places;
}

// Whether what was typed, or a variable that another rule looks after, stands before it.
bool is_overridden(const Entry& entry, const Args& args, const std::vector<Use>& uses) {
  const std::string_view flag = entry.key->flag;
  const bool adds_up =
      entry.key->type == config::Type::variables || entry.key->type == config::Type::volumes;
  // A driver and a run mode both say where.
  if (flag == "driver" && args.given("run-mode")) return true;
  if (flag == "run-mode" && args.given("driver")) return true;
  if (flag != "url" && flag != "state") return !adds_up && args.given(flag);
  // Which daemon is meant: target.h has the rule for flags and variables.
  if (entry.from == From::variable || args.given("state") || find_variable("ATOLL_STATE"))
    return true;
  if (has(uses, Use::serve)) return flag == "url";
  return args.given("url") || find_variable("ATOLL_URL").has_value();
}

// Whatever profile a file chooses that was only found, it takes no isolation away and sends nothing
// out of the house. A flag is the user's own word.
void bound_profile(Args& args) {
  const auto floor = args.find("min-isolation");
  if (config::level_rank(floor.value_or("none")) < config::level_rank("container"))
    args.configure("min-isolation", "container");
  args.configure("placement", "own");
}

Result<> apply(const Verb& verb, const Configuration& configuration, const std::vector<Use>& uses,
               Args& args) {
  for (const Entry& entry : configuration.effective.entries) {
    if (!has(uses, entry.key->use) || !has_flag(verb.grammar, entry.key->flag)) continue;
    if (is_overridden(entry, args, uses) || configuration.effective.is_outdone(entry)) continue;
    auto flags = config::to_flags(entry);
    if (entry.refused && !flags.empty()) return Error(*entry.refused).with(entry.where);
    for (auto& [flag, value] : flags) args.configure(flag, std::move(value));
    if (entry.path == "sandbox.profile" && entry.from == From::project) bound_profile(args);
  }
  const Entry* network = configuration.effective.find("sandbox.network");
  if (has(uses, Use::sandbox) && network != nullptr &&
      (args.find("driver") == "local" || args.find("run-mode") == "local")) {
    return Error(Code::permission_denied,
                 fmt::format("{}: the network is to be cut off, which the driver local cannot do",
                             network->where))
        .with_hint("take another driver, or leave the network out of the configuration");
  }
  return {};
}

// A driver that is not built matters only if it is the one to be used.
Result<> check_file(config::Settings& settings, const Args& args, Program& program) {
  TRY_OK(to_result(settings.findings));
  config::check_settings(settings, program.driver_names());
  if (args.given("driver") || args.given("run-mode") || find_variable("ATOLL_DRIVER") ||
      find_variable("ATOLL_RUN_MODE")) {
    std::erase_if(settings.findings, [](const config::Finding& finding) {
      return finding.problem == config::Problem::not_built;
    });
  }
  return to_result(settings.findings);
}

}  // namespace

Result<> to_result(std::span<const config::Finding> findings) {
  const config::Finding* first = nullptr;
  size_t more = 0;
  for (const config::Finding& finding : findings) {
    if (finding.severity != config::Severity::error) continue;
    if (first == nullptr) {
      first = &finding;
    } else {
      ++more;
    }
  }
  if (first == nullptr) return {};
  std::string message = first->line > 0
                            ? fmt::format("{}:{}:{}: ", first->file, first->line, first->column)
                            : first->file + ": ";
  if (!first->key.empty()) message += first->key + ": ";
  message += first->message;
  if (more > 0) message += fmt::format(" (and {} more; atoll config check shows all)", more);
  return Error(Code::invalid_argument, std::move(message))
      .with_hint(first->hint)
      .at_stage("configuration");
}

Result<Configuration> read_configuration(const Args& args, Asking asking) {
  Configuration configuration;
  for (const config::Found& found : config::find_files(places_for(args, asking))) {
    auto layer = config::read_layer(found, find_any_variable);
    // The system's file may be for root's eyes alone.
    const bool hidden =
        !layer && found.from == From::system && layer.error().code() == Code::permission_denied;
    if (hidden) continue;
    if (!layer) return std::move(layer).error();
    configuration.layers.push_back(std::move(*layer));
  }
  configuration.effective = config::merge(configuration.layers, find_variable);
  return configuration;
}

namespace {

Result<> configure_strictly(const Verb& verb, Args& args, Program& program) {
  const std::vector<Use> uses = uses_of(verb.grammar.verb);
  if (uses.empty()) return {};
  const bool in_project = has(uses, Use::sandbox) || has(uses, Use::command);
  TRY(Configuration configuration,
      read_configuration(args, in_project ? Asking::for_sandbox : Asking::for_daemon));
  for (config::Layer& layer : configuration.layers) {
    if (has(uses, Use::sandbox)) {
      TRY_OK(check_file(layer.settings, args, program));
    } else {
      TRY_OK(to_result(layer.settings.findings));
    }
    if (config::has_other_name(layer.path) && !args.has("quiet") && isatty(STDERR_FILENO) == 1) {
      tell_dim(fmt::format("· {} is read as atoll.yaml; atoll config migrate writes one",
                           to_printable(layer.path)));
    }
  }
  for (const config::Finding& finding : configuration.effective.findings) {
    const config::Key* key = config::key_at(finding.key);
    if (key != nullptr && has(uses, key->use) && !args.given(key->flag))
      TRY_OK(to_result({&finding, 1}));
  }
  return apply(verb, configuration, uses, args);
}

}  // namespace

Result<> configure(const Verb& verb, Args& args, Program& program) {
  auto configured = configure_strictly(verb, args, program);
  // Which version this is can be told whatever a file says.
  if (verb.grammar.verb == "version") return {};
  return configured;
}

}  // namespace atl::cli
