#include "core/profile_use.h"

#include <algorithm>

#include "base/own_home.h"
#include "base/text.h"
#include "json/describe.h"
#include "os/below.h"

namespace atl {
namespace {

using policy::Profile;
using policy::Workspace;

constexpr std::string_view kWorkspace = "/workspace";

void merge_resources(Resources& mine, const Resources& theirs) {
  const Resources asked = mine;
  const auto take = [](auto& to, const auto& from) {
    if (!to) to = from;
  };
  take(mine.cpu, theirs.cpu);
  take(mine.memory_mb, theirs.memory_mb);
  take(mine.pids, theirs.pids);
  take(mine.disk_mb, theirs.disk_mb);
  // A weight and whose the processors are belong together.
  if (!asked.sharing) take(mine.cpu_weight, theirs.cpu_weight);
  if (!asked.cpu_weight) take(mine.sharing, theirs.sharing);
}

Workspace needed_for(HostAccess access) {
  switch (access) {
    case HostAccess::ro:
      return Workspace::ro;
    case HostAccess::cow:
      return Workspace::cow;
    case HostAccess::rw:
      return Workspace::rw;
  }
  return Workspace::rw;
}

std::string_view allowed_by(Workspace most) {
  switch (most) {
    case Workspace::isolated:
      return "shows no directory of the host";
    case Workspace::ro:
      return "shows directories of the host read-only";
    case Workspace::cow:
      return "shows directories of the host read-only or copy-on-write";
    case Workspace::rw:
      break;
  }
  return "";
}

// An open network is never a request's own to have.
Result<> check_network(const CreateRequest& request, const std::string& but,
                       std::optional<Network> most) {
  if (request.network != Network::bridge || most == Network::bridge) return {};
  return Error(Code::permission_denied,
               "network: bridge takes a profile that allows it, and " + but)
      .with_hint("a profile of the operator's with `network: bridge` (docs/profiles.md)");
}

// Whether the caller's own descriptor leads below one of the roots; their names prove nothing.
Result<> check_roots(const Profile& profile, const HostDirectory& directory) {
  if (!profile.mount_roots) return {};
  for (const std::string& root : *profile.mount_roots) {
    if (os::is_below(directory.directory.get(), root)) return {};
  }
  return Error(Code::permission_denied, "host_dirs: " + to_printable(directory.host_path) +
                                            " lies below none of the mount_roots of profile " +
                                            profile.reference());
}

Result<> check_directory(const Profile& profile, const HostDirectory& directory) {
  const Workspace most = profile.workspace.value_or(Workspace::rw);
  if (needed_for(directory.access) <= most) return check_roots(profile, directory);
  return Error(Code::invalid_argument, "host_dirs: " + directory.host_path + " is asked " +
                                           std::string(json::name_of(directory.access)) +
                                           ", and profile " + profile.reference() + " " +
                                           std::string(allowed_by(most)));
}

Result<> check_kept(const CreateRequest& request, const Profile& profile, Lifecycle lifecycle) {
  const policy::Scope scope = profile.used_for();
  if (scope == policy::Scope::run && lifecycle != Lifecycle::ephemeral) {
    return Error(Code::invalid_argument,
                 "profile: " + profile.reference() +
                     " is for single commands, each in a sandbox of its own")
        .with_hint("run the command: POST /v1/runs, atoll run --profile " + profile.name);
  }
  TRY_OK(check_network(request, "profile " + profile.reference() + " does not", profile.network));
  const bool is_for_sessions = scope == policy::Scope::agent || scope == policy::Scope::workspace ||
                               scope == policy::Scope::shared;
  if (is_for_sessions && lifecycle != Lifecycle::ephemeral && !request.scope) {
    return Error(Code::invalid_argument,
                 "profile: sandboxes of " + profile.reference() + " are held by sessions")
        .with_hint("open one: POST /v1/sessions, atoll session open --profile " + profile.name);
  }
  for (const auto& [name, value] : profile.driver_labels) {
    if (request.driver_labels.at(name) == value) continue;
    return Error(Code::invalid_argument, "driver_labels: profile " + profile.reference() + " has " +
                                             policy::label_text(name, value));
  }
  if (request.workspace) TRY_OK(check_directory(profile, *request.workspace));
  for (const auto& mount : request.mounts) TRY_OK(check_directory(profile, mount));
  // Whoever opens templates has done so before.
  if (profile.template_ && !request.root && request.image.empty()) {
    return Error(Code::unavailable, "template: profile " + profile.reference() + " needs " +
                                        *profile.template_ +
                                        ", templates are kept by a daemon, and there is none")
        .with_hint("start one: atoll serve");
  }
  return {};
}

}  // namespace

const policy::Profiles& profiles_of(const EngineOptions& options) {
  return options.profiles ? *options.profiles : *policy::Profiles::built_in();
}

namespace {

// In a root that the profile itself names the home is there. Any other is made by the driver, which
// tells of it, too: a variable would be one of those whose values nobody knows after a restart.
bool has_home_already(const Profile& profile) {
  return profile.image || profile.template_ || *profile.home == kUsualHome;
}

void merge_home(CreateRequest& request, const Profile& profile) {
  if (profile.home && !has_home_already(profile)) request.home = *profile.home;
}

// Of both the profile's own words come first: it may say HOME, too.
void merge_env(std::map<std::string, std::string>& env, const Profile& profile) {
  for (const auto& [name, value] : profile.env) env.try_emplace(name, value);
  if (profile.home && has_home_already(profile)) env.try_emplace("HOME", *profile.home);
}

void merge_times(CreateRequest& request, const Profile& profile) {
  request.may_persist = profile.lifecycle == Life::persistent;
  if (!request.lifecycle) request.lifecycle = profile.lifecycle;
  // What lives as long as the server has no time that could be up.
  const bool has_end = request.lifecycle != Life::persistent;
  const bool may_idle = has_end || profile.on_idle.value_or(OnEnd::kill) != OnEnd::kill;
  if (!request.ttl && profile.ttl_s && has_end) request.ttl = std::chrono::seconds(*profile.ttl_s);
  if (!request.idle && profile.idle_s && may_idle)
    request.idle = std::chrono::seconds(*profile.idle_s);
  if (!request.on_expire && has_end) request.on_expire = profile.on_expire;
  if (!request.on_idle && request.idle) request.on_idle = profile.on_idle;
  const bool is_kept = request.on_expire.value_or(OnEnd::kill) != OnEnd::kill;
  if (!request.keep && profile.keep_s && is_kept)
    request.keep = std::chrono::seconds(*profile.keep_s);
}

}  // namespace

void merge_profile(CreateRequest& request, const Profile& profile) {
  if (profile.min_isolation) {
    request.min_isolation =
        std::max(*profile.min_isolation, request.min_isolation.value_or(Isolation::none));
  }
  if (profile.placement) {
    request.placement =
        std::min(*profile.placement, request.placement.value_or(Placement::third_party));
  }
  request.preferred = profile.drivers.value_or(std::vector<std::string>());
  request.fallback = profile.fallback;
  if (!request.strategy) request.strategy = profile.strategy;
  for (const auto& [name, value] : profile.driver_labels)
    request.driver_labels.try_emplace(name, value);
  if (!request.network) request.network = profile.network;
  request.engine_socket = profile.allow_docker_socket.value_or(false);
  request.mount_roots = profile.mount_roots;
  request.persistence =
      std::max(request.persistence, profile.persistence.value_or(Persistence::ephemeral));
  if (!request.checkpoint && request.persistence == Persistence::checkpoint)
    request.checkpoint = profile.checkpoint;
  merge_times(request, profile);
  if (!request.on_failure) request.on_failure = profile.on_failure;
  merge_resources(request.resources, profile.resources);
  if (profile.image && request.image.empty() && !request.root) request.image = *profile.image;
  ExecDefaults& defaults = request.defaults;
  if (defaults.user.empty()) defaults.user = profile.user.value_or("");
  // Who brings a directory works in that.
  const std::string workdir = profile.workdir.value_or("");
  const bool is_elsewhere = !workdir.starts_with(kWorkspace);
  if (defaults.cwd.empty() && !(request.workspace && is_elsewhere)) defaults.cwd = workdir;
  if (defaults.timeout.count() == 0) defaults.timeout = Millis(profile.timeout_ms.value_or(0));
  merge_env(request.env, profile);
  merge_home(request, profile);
  for (const auto& [name, value] : profile.labels) request.labels.try_emplace(name, value);
  if (!profile.startup.is_empty())
    request.startup = std::make_shared<const policy::Startup>(profile.startup);
}

Result<> add_known_env(std::map<std::string, std::string>& env, const SandboxRecord& record,
                       const std::map<std::string, std::string>& images,
                       const policy::Profiles& profiles) {
  const Asked& asked = record.asked;
  const bool is_of_one = !asked.profile.empty() && asked.profile != policy::kNoProfile;
  std::optional<Error> trouble;
  if (is_of_one) {
    auto known = profiles.get(asked.profile);
    if (known) {
      merge_env(env, (*known)->profile);
    } else {
      trouble = std::move(known).error();
    }
  }
  env.insert(images.begin(), images.end());
  if (!trouble) return {};
  // Which of its variables were the profile's nobody knows any more.
  std::string lost;
  for (const auto& name : asked.env_names) {
    if (!env.contains(name)) lost += (lost.empty() ? "" : ", ") + name;
  }
  if (lost.empty()) return {};
  return Error(trouble->code(),
               "the environment of sandbox " + record.id + ": " + trouble->message())
      .with_hint("bring the profile back, or say what it may have given: " + lost);
}

void leave_out_ends(CreateRequest& request, const policy::Profiles& profiles) {
  if (!has_profile(request)) return;
  const auto known = profiles.get(request.profile);
  if (!known) return;
  const Profile& profile = (*known)->profile;
  if (request.on_expire == profile.on_expire) request.on_expire.reset();
  if (request.on_idle == profile.on_idle) request.on_idle.reset();
  if (request.on_failure == profile.on_failure) request.on_failure.reset();
  if (profile.keep_s && request.keep == std::chrono::seconds(*profile.keep_s)) request.keep.reset();
}

bool has_profile(const CreateRequest& request) {
  return !request.profile.empty() && request.profile != policy::kNoProfile;
}

Result<> settle_without_profile(CreateRequest& request) {
  request.profile.clear();
  request.cuts_network = request.network == Network::none;
  return check_network(request, "none is named", std::nullopt);
}

Result<> settle_profile(CreateRequest& request, const policy::Profiles& profiles,
                        Lifecycle lifecycle) {
  if (!has_profile(request)) return settle_without_profile(request);
  auto known = profiles.get(request.profile);
  if (!known) return std::move(known).error().with("profile");
  const Profile& profile = (*known)->profile;
  merge_profile(request, profile);
  request.profile = profile.reference();
  request.cuts_network = request.network == Network::none;
  return check_kept(request, profile, lifecycle);
}

}  // namespace atl
