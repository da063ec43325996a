#include "tests/security/attack.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace atl::attack {
namespace {

std::vector<const Attack*>& registered() {
  static std::vector<const Attack*> attacks;
  return attacks;
}

}  // namespace

const char* name_of(Layer layer) {
  switch (layer) {
    case Layer::user_namespace:
      return "user_namespace";
    case Layer::mount_namespace:
      return "mount_namespace";
    case Layer::pid_namespace:
      return "pid_namespace";
    case Layer::ipc_namespace:
      return "ipc_namespace";
    case Layer::uts_namespace:
      return "uts_namespace";
    case Layer::cgroup_namespace:
      return "cgroup_namespace";
    case Layer::network_namespace:
      return "network_namespace";
    case Layer::root:
      return "root";
    case Layer::proc_masks:
      return "proc_masks";
    case Layer::capabilities:
      return "capabilities";
    case Layer::no_new_privileges:
      return "no_new_privileges";
    case Layer::seccomp:
      return "seccomp";
    case Layer::landlock:
      return "landlock";
    case Layer::rlimits:
      return "rlimits";
    case Layer::cgroups:
      return "cgroups";
    case Layer::descriptors:
      return "descriptors";
    case Layer::file_api:
      return "file_api";
  }
  return "";
}

const char* name_of(Setting setting) {
  switch (setting) {
    case Setting::plain:
      return "plain";
    case Setting::limited:
      return "limited";
    case Setting::terminal:
      return "terminal";
    case Setting::held:
      return "held";
    case Setting::daemon:
      return "daemon";
    case Setting::file_api:
      return "file_api";
    case Setting::twice:
      return "twice";
    case Setting::beside:
      return "beside";
    case Setting::outlive:
      return "outlive";
    case Setting::workdir:
      return "workdir";
    case Setting::script:
      return "script";
  }
  return "";
}

Outcome reached(std::string what) { return {Outcome::Kind::reached, 0, std::move(what)}; }
Outcome denied(std::string call) { return denied(errno, std::move(call)); }
Outcome denied(int error, std::string call) {
  return {Outcome::Kind::denied, error, std::move(call)};
}
Outcome not_applicable(std::string why) {
  return {Outcome::Kind::not_applicable, 0, std::move(why)};
}

Registration::Registration(const Attack& attack) { registered().push_back(&attack); }

std::vector<const Attack*> all_attacks() {
  std::vector<const Attack*> attacks = registered();
  std::sort(attacks.begin(), attacks.end(), [](const Attack* a, const Attack* b) {
    const auto rank = [](const Attack* one) {
      return std::tuple(one->dossier == 0 ? 1'000 : one->dossier, std::string(one->name));
    };
    return rank(a) < rank(b);
  });
  return attacks;
}

Layers rootless_control(const Attack& attack) {
  if (!attack.rootless.empty()) return attack.rootless;
  if (!attack.stopped_by.has(Layer::user_namespace)) return attack.stopped_by;
  return attack.user == User::root ? Layers() : attack.stopped_by.without(Layer::user_namespace);
}

const Attack* find_attack(const std::string& name) {
  for (const Attack* attack : registered()) {
    if (attack->name == name) return attack;
  }
  return nullptr;
}

const std::vector<Uncovered>& uncovered() {
  static const std::vector<Uncovered> list = {
      {34, "nothing unpacks a tar inside a sandbox yet; atoll cp leaves links out"},
      {46, "there is no zygote yet: nothing is forked across sandboxes"},
  };
  return list;
}

}  // namespace atl::attack
