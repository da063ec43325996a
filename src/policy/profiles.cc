#include "policy/profiles.h"

#include <algorithm>

#include "base/check.h"
#include "base/own_home.h"
#include "base/text.h"
#include "json/describe.h"

namespace atl::policy {
namespace {

std::string name_of(auto value) { return std::string(json::name_of(value)); }

std::string where(const ReadProfile& read) {
  return read.line > 0 ? read.file + ":" + std::to_string(read.line) : read.file;
}

// By their names alone: "/srv/a/../b" is in "/srv/a" for nobody.
bool lies_in(const std::string& path, const std::string& directory) {
  if (path.find("/..") != std::string::npos) return false;
  return path == directory || directory == "/" ||
         (path.starts_with(directory) &&
          (directory.ends_with('/') || path[directory.size()] == '/'));
}

// What the child does not say, its parent says.
class Inheriting final {
 public:
  Inheriting(KnownProfile& child, const KnownProfile& parent) : child_(child), parent_(parent) {}

  Result<> run() {
    Profile& mine = child_.profile;
    const Profile& theirs = parent_.profile;
    TRY_OK(bound("min_isolation", mine.min_isolation, theirs.min_isolation,
                 [](Isolation own, Isolation inherited) { return own >= inherited; }));
    TRY_OK(bound("placement", mine.placement, theirs.placement,
                 [](Placement own, Placement inherited) { return own <= inherited; }));
    TRY_OK(bound("workspace", mine.workspace, theirs.workspace,
                 [](Workspace own, Workspace inherited) { return own <= inherited; }));
    take("persistence", mine.persistence, theirs.persistence);
    take("checkpoint", mine.checkpoint, theirs.checkpoint);
    take("lifecycle", mine.lifecycle, theirs.lifecycle);
    take("scope", mine.scope, theirs.scope);
    TRY_OK(bound("network", mine.network, theirs.network,
                 [](Network own, Network inherited) { return own <= inherited; }));
    TRY_OK(bound_roots(mine.mount_roots, theirs.mount_roots));
    take("allow_docker_socket", mine.allow_docker_socket, theirs.allow_docker_socket);
    take("ttl", mine.ttl_s, theirs.ttl_s);
    take("idle", mine.idle_s, theirs.idle_s);
    take("on_expire", mine.on_expire, theirs.on_expire);
    take("on_idle", mine.on_idle, theirs.on_idle);
    take("keep", mine.keep_s, theirs.keep_s);
    take("on_failure", mine.on_failure, theirs.on_failure);
    take("resources.cpus", mine.resources.cpu, theirs.resources.cpu);
    take("resources.memory", mine.resources.memory_mb, theirs.resources.memory_mb);
    take("resources.pids", mine.resources.pids, theirs.resources.pids);
    take("resources.disk", mine.resources.disk_mb, theirs.resources.disk_mb);
    take("resources.cpu_weight", mine.resources.cpu_weight, theirs.resources.cpu_weight);
    take("resources.sharing", mine.resources.sharing, theirs.resources.sharing);
    // One root: who names an image does not inherit a template.
    const bool has_root = mine.image || mine.template_;
    if (!has_root) take("image", mine.image, theirs.image);
    if (!has_root) take("template", mine.template_, theirs.template_);
    take("user", mine.user, theirs.user);
    take("home", mine.home, theirs.home);
    take("workdir", mine.workdir, theirs.workdir);
    take_all("env", mine.env, theirs.env);
    take_all("labels", mine.labels, theirs.labels);
    // An order and what follows it belong together.
    if (!mine.drivers) take("fallback", mine.fallback, theirs.fallback);
    take("drivers", mine.drivers, theirs.drivers);
    take("strategy", mine.strategy, theirs.strategy);
    take_all("driver_labels", mine.driver_labels, theirs.driver_labels);
    take("timeout", mine.timeout_ms, theirs.timeout_ms);
    take("dependencies", mine.startup.dependencies, theirs.startup.dependencies);
    take("layer", mine.startup.layer, theirs.startup.layer);
    take("setup", mine.startup.setup, theirs.startup.setup);
    take("requires", mine.startup.requires_, theirs.startup.requires_);
    take("readiness", mine.startup.readiness, theirs.startup.readiness);
    take("hooks.after_start", mine.startup.after_start, theirs.startup.after_start);
    take("hooks.before_stop", mine.startup.before_stop, theirs.startup.before_stop);
    child_.chain.insert(child_.chain.end(), parent_.chain.begin(), parent_.chain.end());
    return {};
  }

 private:
  void note(const std::string& field) { child_.from[field] = parent_.from.at(field); }

  template <typename T>
  void take(const std::string& field, std::optional<T>& mine, const std::optional<T>& theirs) {
    if (mine || !theirs) return;
    mine = theirs;
    note(field);
  }

  void take_all(const std::string& field, std::map<std::string, std::string>& mine,
                const std::map<std::string, std::string>& theirs) {
    for (const auto& [name, value] : theirs) {
      if (mine.try_emplace(name, value).second) note(std::string(field).append(".").append(name));
    }
  }

  template <typename T, typename Fits>
  Result<> bound(const std::string& field, std::optional<T>& mine, const std::optional<T>& theirs,
                 Fits fits) {
    if (mine && theirs && !fits(*mine, *theirs)) {
      return Error(Code::invalid_argument, field + ": " + name_of(*mine) + " is weaker than " +
                                               name_of(*theirs) + ", which it inherits from " +
                                               parent_.from.at(field))
          .with_hint("inherit another profile, or none: a bound is only ever tightened");
    }
    take(field, mine, theirs);
    return {};
  }

  Result<> bound_roots(std::optional<std::vector<std::string>>& mine,
                       const std::optional<std::vector<std::string>>& theirs) {
    if (mine && theirs) {
      for (const std::string& root : *mine) {
        const bool fits = std::ranges::any_of(
            *theirs, [&](const std::string& above) { return lies_in(root, above); });
        if (fits) continue;
        return Error(Code::invalid_argument, "mount_roots: " + to_printable(root) +
                                                 " lies outside of what it inherits from " +
                                                 parent_.from.at("mount_roots"))
            .with_hint("inherit another profile, or none: a bound is only ever tightened");
      }
    }
    take("mount_roots", mine, theirs);
    return {};
  }

  KnownProfile& child_;
  const KnownProfile& parent_;
};

// Everything that a profile says itself.
std::map<std::string, std::string> own_fields(const Profile& profile) {
  std::map<std::string, std::string> from;
  const std::string self = profile.reference();
  const auto note = [&](const char* field, bool is_set) {
    if (is_set) from[field] = self;
  };
  note("min_isolation", profile.min_isolation.has_value());
  note("placement", profile.placement.has_value());
  note("workspace", profile.workspace.has_value());
  note("persistence", profile.persistence.has_value());
  note("checkpoint", profile.checkpoint.has_value());
  note("lifecycle", profile.lifecycle.has_value());
  note("scope", profile.scope.has_value());
  note("network", profile.network.has_value());
  note("mount_roots", profile.mount_roots.has_value());
  note("allow_docker_socket", profile.allow_docker_socket.has_value());
  note("ttl", profile.ttl_s.has_value());
  note("idle", profile.idle_s.has_value());
  note("on_expire", profile.on_expire.has_value());
  note("on_idle", profile.on_idle.has_value());
  note("keep", profile.keep_s.has_value());
  note("on_failure", profile.on_failure.has_value());
  note("resources.cpus", profile.resources.cpu.has_value());
  note("resources.memory", profile.resources.memory_mb.has_value());
  note("resources.pids", profile.resources.pids.has_value());
  note("resources.disk", profile.resources.disk_mb.has_value());
  note("resources.cpu_weight", profile.resources.cpu_weight.has_value());
  note("resources.sharing", profile.resources.sharing.has_value());
  note("image", profile.image.has_value());
  note("template", profile.template_.has_value());
  note("user", profile.user.has_value());
  note("home", profile.home.has_value());
  note("workdir", profile.workdir.has_value());
  for (const auto& [name, value] : profile.env) from["env." + name] = self;
  for (const auto& [name, value] : profile.labels) from["labels." + name] = self;
  note("drivers", profile.drivers.has_value());
  note("fallback", profile.fallback.has_value());
  note("strategy", profile.strategy.has_value());
  for (const auto& [name, value] : profile.driver_labels) from["driver_labels." + name] = self;
  note("timeout", profile.timeout_ms.has_value());
  note("dependencies", profile.startup.dependencies.has_value());
  note("layer", profile.startup.layer.has_value());
  note("setup", profile.startup.setup.has_value());
  note("requires", profile.startup.requires_.has_value());
  note("readiness", profile.startup.readiness.has_value());
  note("hooks.after_start", profile.startup.after_start.has_value());
  note("hooks.before_stop", profile.startup.before_stop.has_value());
  note("pool", profile.pool.has_value());
  return from;
}

constexpr const char* kTooDeep = "more than 8 in a row";

// What a file may not say that nobody named: see config/project_rule.h.
Result<> check_project(const Profile& profile) {
  const auto refused = [](std::string_view why) {
    return Error(Code::permission_denied,
                 "a project file that nobody named may not " + std::string(why))
        .with_hint("if you trust the file, name it: --profiles FILE, or --config FILE");
  };
  if (profile.placement == Placement::third_party) return refused("send code to third parties");
  if (profile.network == Network::bridge) return refused("open the network");
  if (profile.mount_roots) return refused("say which directories of the host may be shown");
  if (profile.allow_docker_socket == true) return refused("hand over the engine's socket");
  if (profile.workspace == Workspace::rw) return refused("let code write to the host's files");
  if (profile.min_isolation && *profile.min_isolation < Isolation::container) {
    return refused("ask for less isolation than container");
  }
  if (profile.drivers && !profile.min_isolation) {
    return refused("choose drivers without saying min_isolation: container or more");
  }
  // Its setup would run though nobody has asked for a sandbox.
  if (profile.pool) return refused("have sandboxes made ahead (`pool`)");
  return {};
}

}  // namespace

class ProfileLoader final {
 public:
  void read(const ProfileText& text) {
    auto read = read_profiles(text);
    for (Error& problem : read.problems) problems_.push_back(std::move(problem));
    for (ReadProfile& one : read.profiles) add(std::move(one));
  }

  void resolve() {
    for (const auto& [name, versions] : read_) {
      for (const auto& [version, read] : versions) {
        std::vector<std::string> way;
        auto known = get(name, version, way);
        if (!known) problems_.push_back(std::move(known).error().with(where(read)));
      }
    }
  }

  std::vector<Error>& problems() { return problems_; }
  Profiles take() { return std::move(profiles_); }

 private:
  void add(ReadProfile read) {
    const Profile& profile = read.profile;
    const auto fail = [&](Error error) { problems_.push_back(std::move(error).with(where(read))); };
    if (++count_ > kMostProfiles) {
      if (count_ == kMostProfiles + 1) {
        fail(Error(Code::too_large, "there are more than 500 profiles"));
      }
      return;
    }
    auto& versions = read_[profile.name];
    if (const auto other = versions.find(profile.version); other != versions.end()) {
      const bool built_in = other->second.origin == Origin::built_in;
      return fail(
          Error(Code::invalid_argument,
                "profile " + profile.reference() +
                    (built_in ? " is built in" : " is there twice: " + where(other->second)))
              .with_hint("give it another version, or another name"));
    }
    const bool is_taken = std::ranges::any_of(
        versions, [](const auto& one) { return one.second.origin != Origin::project; });
    if (read.origin == Origin::project && is_taken) {
      return fail(Error(Code::permission_denied,
                        "profile " + profile.reference() +
                            ": a project file that nobody named may not take over the name of "
                            "another profile")
                      .with_hint("call it otherwise; or, if you trust the file, name it: "
                                 "--profiles FILE"));
    }
    versions.emplace(profile.version, std::move(read));
  }

  static Error refuse_way(const std::vector<std::string>& way, const char* why) {
    std::string text;
    for (const std::string& step : way) text += (text.empty() ? "" : " → ") + step;
    return Error(Code::invalid_argument,
                 "profile " + way.front() + ": inherits: " + why + ": " + text);
  }

  // `way` is what has been gone through to get here.
  Result<const KnownProfile*> get(const std::string& name, int64_t version,
                                  std::vector<std::string>& way) {
    auto& done = profiles_.by_name_[name];
    if (const auto found = done.find(version); found != done.end()) return &found->second;
    const ReadProfile& read = read_.at(name).at(version);
    const std::string self = read.profile.reference();
    const bool is_cycle = std::ranges::find(way, self) != way.end();
    way.push_back(self);
    if (is_cycle) return refuse_way(way, "it goes in a circle");
    if (way.size() > kDeepestInheritance) return refuse_way(way, kTooDeep);
    KnownProfile known{.profile = read.profile,
                       .origin = read.origin,
                       .file = read.file,
                       .chain = {self},
                       .from = own_fields(read.profile)};
    if (!read.profile.inherits.empty()) {
      TRY(const KnownProfile* parent, get_parent(read.profile, way));
      if (parent->chain.size() >= kDeepestInheritance) {
        // Whoever asked is told, and not a parent that may have been told of before.
        way.insert(way.end(), parent->chain.begin(), parent->chain.end());
        return refuse_way(way, kTooDeep);
      }
      auto inherited = Inheriting(known, *parent).run();
      if (!inherited) return std::move(inherited).error().with("profile " + self);
    }
    auto fine = check_whole(known);
    if (!fine) return std::move(fine).error().with("profile " + self);
    way.pop_back();
    return &profiles_.by_name_[name].emplace(version, std::move(known)).first->second;
  }

  Result<const KnownProfile*> get_parent(const Profile& child, std::vector<std::string>& way) {
    TRY(const auto reference, parse_profile_reference(child.inherits));
    const auto versions = read_.find(reference.name);
    const bool is_there = versions != read_.end() && !versions->second.empty() &&
                          (!reference.version || versions->second.contains(*reference.version));
    if (!is_there) {
      return Error(Code::not_found, "profile " + child.reference() + ": inherits: no profile is " +
                                        "called " + reference.text());
    }
    return get(reference.name, reference.version.value_or(versions->second.rbegin()->first), way);
  }

  // A time of a profile farther up gives way to `lifecycle: persistent`; one that is said beside or
  // after it would have no effect.
  static Result<> check_endless(const KnownProfile& known) {
    const auto distance = [&](const char* field) {
      const auto from = known.from.find(field);
      return from == known.from.end() ? known.chain.end()
                                      : std::ranges::find(known.chain, from->second);
    };
    for (const char* field : {"ttl", "on_expire"}) {
      if (distance(field) > distance("lifecycle")) continue;
      return Error(Code::invalid_argument,
                   std::string(field) + ": with lifecycle: persistent no time could be up")
          .with_hint("leave out one of the two");
    }
    return {};
  }

  // What only the whole can tell.
  static Result<> check_whole(const KnownProfile& known) {
    const Profile& profile = known.profile;
    if (profile.checkpoint && profile.persistence != Persistence::checkpoint) {
      return Error(Code::invalid_argument, "checkpoint: it takes persistence: checkpoint");
    }
    // One of the two words may be a parent's.
    if (profile.lifecycle) TRY_OK(check_life(*profile.lifecycle, profile.used_for()));
    if (profile.lifecycle == Life::persistent) TRY_OK(check_endless(known));
    const bool is_kept = profile.persistence == Persistence::checkpoint;
    if (is_kept && (profile.pool || profile.used_for() == Scope::run)) {
      return Error(Code::invalid_argument,
                   "persistence: checkpoint is for sandboxes with a name, not for those of a pool "
                   "or of single commands");
    }
    if (profile.home && !profile.image && !profile.template_ && !is_own_home(*profile.home)) {
      return Error(Code::unsupported, "home: " + to_printable(*profile.home) +
                                          " takes an image or a template that has the directory")
          .with_hint("what is made by itself is /home/NAME: letters, digits, '_', '-' and '.'");
    }
    // Whoever has the socket rules the host: that and a floor are not to be had together.
    const Isolation floor = profile.min_isolation.value_or(Isolation::none);
    if (profile.allow_docker_socket == true && floor > Isolation::none) {
      return Error(Code::invalid_argument,
                   "allow_docker_socket: whoever has the socket rules the host, which is "
                   "isolation none, and min_isolation demands " +
                       name_of(floor))
          .with_hint("leave out one of the two");
    }
    if (known.origin == Origin::project) return check_project(profile);
    return {};
  }

  std::map<std::string, std::map<int64_t, ReadProfile>> read_;
  Profiles profiles_;
  std::vector<Error> problems_;
  size_t count_ = 0;
};

namespace {

ProfileLoader load_all(std::span<const ProfileText> texts) {
  ProfileLoader loader;
  for (const auto& [file, text] : built_in_texts()) {
    loader.read({std::string(file), std::string(text), Origin::built_in, Form::profile_file});
  }
  // Whoever is trusted more comes first: a project file takes no name that is taken.
  for (const Origin origin : {Origin::operators, Origin::project}) {
    for (const ProfileText& text : texts) {
      if (text.origin == origin) loader.read(text);
    }
  }
  loader.resolve();
  return loader;
}

}  // namespace

Result<std::shared_ptr<const Profiles>> Profiles::load(std::span<const ProfileText> texts) {
  ProfileLoader loader = load_all(texts);
  auto& problems = loader.problems();
  if (problems.empty()) return std::make_shared<const Profiles>(loader.take());
  Error first = std::move(problems.front());
  if (problems.size() == 1) return first;
  return std::move(first).with_hint("and " + std::to_string(problems.size() - 1) +
                                    " more; atoll profile check shows all");
}

std::vector<Error> Profiles::check(std::span<const ProfileText> texts) {
  return std::move(load_all(texts).problems());
}

std::shared_ptr<const Profiles> Profiles::built_in() {
  static const std::shared_ptr<const Profiles> profiles = [] {
    auto loaded = load({});
    ATOLL_CHECK(loaded.has_value());
    return *std::move(loaded);
  }();
  return profiles;
}

Result<const KnownProfile*> Profiles::get(std::string_view text) const {
  TRY(const auto reference, parse_profile_reference(text));
  const auto versions = by_name_.find(reference.name);
  if (versions == by_name_.end() || versions->second.empty()) {
    std::vector<std::string> names;
    std::string list;
    for (const auto& [name, known] : by_name_) {
      names.push_back(name);
      list += (list.empty() ? "" : ", ") + name;
    }
    const std::string near = did_you_mean(reference.name, names);
    return Error(Code::not_found, "no profile is called " + reference.name)
        .with_hint((near.empty() ? "" : "did you mean " + near + "? ") + "known: " + list);
  }
  if (!reference.version) return &versions->second.rbegin()->second;
  const auto found = versions->second.find(*reference.version);
  if (found != versions->second.end()) return &found->second;
  std::string list;
  for (const auto& [version, known] : versions->second) {
    list += (list.empty() ? "" : ", ") + std::to_string(version);
  }
  return Error(Code::not_found, "profile " + reference.name + " has no version " +
                                    std::to_string(*reference.version))
      .with_hint("its versions: " + list);
}

std::vector<const KnownProfile*> Profiles::all() const {
  std::vector<const KnownProfile*> found;
  for (const auto& [name, versions] : by_name_) {
    for (auto known = versions.rbegin(); known != versions.rend(); ++known) {
      found.push_back(&known->second);
    }
  }
  return found;
}

}  // namespace atl::policy
