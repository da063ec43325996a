#include "agent/spawn.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "agent/process_tree.h"
#include "base/text.h"
#include "os/file.h"

namespace atl::agent {
namespace {

// The paths that a shell would try for a command.
std::vector<std::string> programs_for(const std::string& command,
                                      const std::map<std::string, std::string>& environment) {
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> programs;
  const auto path = environment.find("PATH");
  for (const auto& directory :
       split(path == environment.end() ? "/usr/bin:/bin" : path->second, ':')) {
    programs.push_back((directory.empty() ? "." : directory) + "/" + command);
  }
  return programs;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  for (auto& text : strings) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<> check(const guest::Exec& request) {
  if (request.argv.empty() || request.argv[0].empty()) {
    return Error(Code::invalid_argument, "argv is empty");
  }
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::ranges::any_of(request.argv, has_nul)) {
    return Error(Code::invalid_argument, "an argument cannot hold a NUL byte");
  }
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return Error(Code::invalid_argument,
                   "environment variable '" + to_printable(name) + "' is malformed");
    }
  }
  return {};
}

Result<Setting> find_setting(const Jail& jail, const SpawnPlace& place,
                             const guest::Exec& request) {
  Setting setting;
  TRY(setting.user, jail.find_user(request.user));
  setting.environment = jail.environment(setting.user, request.env);
  if (!place.mark.empty())
    setting.environment.insert_or_assign(kExecMark, place.mark.substr(place.mark.find('=') + 1));
  setting.directory = place.directory >= 0 ? place.directory : jail.start_directory();
  if (!request.cwd.empty()) {
    TRY(setting.opened, jail.open_directory(request.cwd));
    setting.directory = setting.opened.get();
  }
  if (setting.directory != jail.start_directory()) {
    if (auto path = os::path_of(setting.directory))
      setting.environment.insert_or_assign("PWD", *path);
  }
  return setting;
}

Result<Spawned> spawn(const Jail& jail, ExecGroups& groups, const SpawnPlace& place,
                      const guest::Exec& request) {
  TRY(const auto setting, find_setting(jail, place, request));
  const auto& environment = setting.environment;
  std::vector<std::string> programs =
      programs_for(place.program.empty() ? request.argv[0] : place.program, environment);
  std::vector<std::string> arguments = request.argv;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    variables.emplace_back(name).append("=").append(value);
  }
  const auto program_pointers = pointers(programs);
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);

  Spawned spawned;
  native::ChildPlan plan;
  plan.programs = program_pointers.data();
  plan.argv = argument_pointers.data();
  plan.environment = variable_pointers.data();
  std::ranges::copy(place.stdio, plan.stdio);
  std::ranges::copy(place.more, plan.more);
  plan.has_terminal = place.has_terminal;
  plan.directory = setting.directory;
  jail.confine(plan, setting.user);
  std::vector<native::ChildLimit> limits(plan.limits, plan.limits + plan.limit_count);
  if (const rlim_t most = groups.most_processes(); most > 1) {
    // The group refuses a fork only when the kernel has copied all of the parent, under locks of
    // the files that it has mapped, which others on this host have mapped, too. A fork bomb would
    // hold those up. The limit of a user is looked at first.
    // A limit above the agent's own could not be set, and would add nothing.
    rlimit own{};
    const rlim_t highest = getrlimit(RLIMIT_NPROC, &own) == 0 ? own.rlim_max : RLIM_INFINITY;
    const rlim_t processes = std::min(most - 1, highest);
    limits.push_back({RLIMIT_NPROC, {processes, processes}});
  }
  if (request.cpu_time_ms > 0 && !groups.count_cpu()) {
    // Nobody counts for the whole command, but the kernel does for each process, by the second. Who
    // ignores the first signal is killed a second later.
    const rlim_t seconds = (request.cpu_time_ms + 999) / 1000;
    limits.push_back({RLIMIT_CPU, {seconds, seconds + 1}});
  }
  plan.limits = limits.data();
  plan.limit_count = limits.size();
  const ExecGroup* group = place.group;
  if (group == nullptr && groups.available()) {
    const bool is_only = jail.config().dies_with_connection;
    TRY(spawned.group,
        groups.take(is_only ? ExecGroups::Kind::the_only_one : ExecGroups::Kind::one_of_many));
    group = &*spawned.group;
  }
  if (group != nullptr) {
    plan.birthplace = group->birthplace();
    plan.joins = group->joins().data();
    plan.join_count = group->joins().size();
  }

  auto pid = native::spawn_child(plan);
  if (pid) {
    spawned.pid = *pid;
    return spawned;
  }
  if (spawned.group) {
    groups.give_back(std::move(*spawned.group));
    spawned.group.reset();
  }
  if (plan.failed_at != native::ChildStage::exec) {
    if (pid.error().code() != Code::too_large) return std::move(pid).error();
    return std::move(pid).error().with_hint(
        "the arguments and environment are too long for the kernel");
  }
  const bool missing = plan.failure == ENOENT || plan.failure == ENOTDIR;
  spawned.exit_code = missing ? 127 : 126;
  spawned.message =
      to_printable(request.argv[0]) + ": " +
      (missing ? "command not found" : os_error_from(plan.failure, "cannot execute").message());
  return spawned;
}

}  // namespace atl::agent
