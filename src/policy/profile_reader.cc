#include "policy/profile_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "json/yaml.h"
#include "policy/driver_labels.h"
#include "policy/pool_reader.h"
#include "policy/startup_reader.h"
#include "policy/written_value.h"

namespace atl::policy {
namespace {

constexpr int64_t kHighestVersion = 9'999;
constexpr size_t kLongestText = 1'024;
constexpr size_t kMostDrivers = 32;
constexpr size_t kMostMountRoots = 32;

// As they stand in a file.
struct WrittenResources {
  static constexpr auto kRequired = json::required();
  std::optional<double> cpus;
  std::optional<double> cpu;
  std::optional<json::Value> memory;
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> pids;
  std::optional<json::Value> disk;
  std::optional<int64_t> disk_mb;
  std::optional<int64_t> cpu_weight;
  std::optional<std::string> sharing;
};
BOOST_DESCRIBE_STRUCT(WrittenResources, (),
                      (cpus, cpu, memory, memory_mb, pids, disk, disk_mb, cpu_weight, sharing))

struct WrittenProfile {
  static constexpr auto kRequired = json::required();
  std::optional<std::string> name;
  std::optional<int64_t> version;
  std::optional<std::string> inherits;
  std::optional<std::string> description;
  std::optional<Isolation> min_isolation;
  std::optional<Isolation> isolation_level;
  std::optional<Placement> placement;
  std::optional<std::string> persistence;
  std::optional<std::string> checkpoint;
  std::optional<std::string> lifecycle;
  std::optional<std::string> scope;
  std::optional<Workspace> workspace;
  std::optional<json::Value> network;
  std::optional<json::Value> ttl;
  std::optional<std::string> on_expire;
  std::optional<json::Value> idle;
  std::optional<std::string> on_idle;
  std::optional<json::Value> keep;
  std::optional<std::string> on_failure;
  std::optional<WrittenResources> resources;
  std::optional<std::string> image;
  std::optional<std::string> template_;
  std::optional<std::string> user;
  std::optional<std::string> home;
  std::optional<std::string> workdir;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::vector<std::string>> drivers;
  std::optional<std::vector<std::string>> fallback;
  std::optional<Strategy> strategy;
  std::optional<std::map<std::string, std::string>> driver_labels;
  std::optional<json::Value> timeout;
  std::optional<json::Value> dependencies;
  std::optional<Layer> layer;
  std::optional<json::Value> setup;
  std::optional<json::Value> requires_;
  std::optional<json::Value> readiness;
  std::optional<json::Value> hooks;
  std::optional<json::Value> pool;
  std::optional<std::vector<std::string>> mount_roots;
  std::optional<bool> allow_docker_socket;
};
BOOST_DESCRIBE_STRUCT(WrittenProfile, (),
                      (name, version, inherits, description, min_isolation, isolation_level,
                       placement, persistence, checkpoint, lifecycle, scope, workspace, network,
                       ttl, on_expire, idle, on_idle, keep, on_failure, resources, image, template_,
                       user, home, workdir, env, labels, drivers, fallback, strategy, driver_labels,
                       timeout, dependencies, layer, setup, requires_, readiness, hooks, pool,
                       mount_roots, allow_docker_socket))

Error not_available(std::string_view field) {
  return Error(Code::unsupported, "`" + std::string(field) + "` is not available in this version")
      .with(field)
      .with_hint("leave it out: a profile that is not kept whole is not used");
}

template <typename T>
Result<> one_of_two(std::string_view field, std::string_view alias, std::optional<T>& value,
                    const std::optional<T>& other) {
  if (value && other && *value != *other) {
    return wrong(alias, "it is an alias of " + std::string(field) + ", and the two differ");
  }
  if (!value) value = other;
  return {};
}

Result<Resources> to_resources(WrittenResources written) {
  Resources resources;
  TRY_OK(one_of_two("resources.cpus", "resources.cpu", written.cpus, written.cpu));
  resources.cpu = written.cpus;
  if (written.memory) {
    TRY(resources.memory_mb, to_mib("resources.memory", *written.memory));
  }
  TRY_OK(one_of_two("resources.memory", "resources.memory_mb", resources.memory_mb,
                    written.memory_mb));
  if (written.disk) {
    TRY(resources.disk_mb, to_mib("resources.disk", *written.disk));
  }
  TRY_OK(one_of_two("resources.disk", "resources.disk_mb", resources.disk_mb, written.disk_mb));
  resources.pids = written.pids;
  resources.cpu_weight = written.cpu_weight;
  if (!written.sharing) return resources;
  resources.sharing = json::find_enum<Sharing>(*written.sharing);
  if (resources.sharing == Sharing::limited && !resources.cpu && !resources.memory_mb)
    return wrong("resources.sharing", "limited needs a limit: cpus, memory or both");
  if (resources.sharing) return resources;
  return wrong("resources.sharing", "expected one of shared, limited, burstable, dedicated, got " +
                                        json::quote(*written.sharing));
}

Result<> check_text(std::string_view field, const std::optional<std::string>& text) {
  if (!text) return {};
  const bool plain =
      std::ranges::none_of(*text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (text->size() <= kLongestText && plain) return {};
  return wrong(field, "it is one line of at most 1024 bytes");
}

Result<> check_path(std::string_view field, const std::optional<std::string>& path) {
  TRY_OK(check_text(field, path));
  if (!path || path->starts_with('/')) return {};
  return wrong(field, "it is an absolute path in the sandbox");
}

Result<> check_drivers(std::string_view field,
                       const std::optional<std::vector<std::string>>& names) {
  if (!names) return {};
  if (names->size() > kMostDrivers) return wrong(field, "at most 32 can be named");
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    const bool fine =
        !name.empty() && name.size() <= 63 &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    if (!fine) return wrong(field, "no driver can be called " + json::quote(name));
    if (std::find(names->begin(), names->begin() + static_cast<ptrdiff_t>(i), name) !=
        names->begin() + static_cast<ptrdiff_t>(i)) {
      return wrong(field, name + " is there twice");
    }
  }
  return {};
}

Result<> check_roots(const std::optional<std::vector<std::string>>& roots) {
  if (!roots) return {};
  if (roots->size() > kMostMountRoots) return wrong("mount_roots", "at most 32 can be named");
  for (const std::string& root : *roots) {
    if (root.size() > kLongestText || !root.starts_with('/') ||
        root.find('\0') != std::string::npos) {
      return wrong("mount_roots", "they are absolute paths of the host");
    }
  }
  return {};
}

Result<std::optional<OnEnd>> to_end(std::string_view field,
                                    const std::optional<std::string>& written) {
  if (!written) return std::optional<OnEnd>();
  if (*written == "destroy") return std::optional(OnEnd::kill);
  const auto found = json::find_enum<OnEnd>(*written);
  if (!found) return wrong(field, "expected kill, stop or pause");
  return found;
}

Result<> take_choices(const WrittenProfile& written, Profile& profile) {
  if (written.persistence) {
    profile.persistence = json::find_enum<Persistence>(*written.persistence);
    if (!profile.persistence)
      return wrong("persistence", "expected ephemeral, persistent or checkpoint");
  }
  if (written.checkpoint) {
    profile.checkpoint = json::find_enum<SnapshotKind>(*written.checkpoint);
    if (!profile.checkpoint) return wrong("checkpoint", "expected disk or memory");
  }
  if (written.lifecycle) {
    profile.lifecycle = json::find_enum<Life>(*written.lifecycle);
    if (!profile.lifecycle)
      return wrong("lifecycle", "expected session, persistent, workspace or ephemeral");
  }
  if (written.scope) {
    profile.scope = json::find_enum<Scope>(*written.scope);
    for (const std::string_view later : {"tenant", "user"}) {
      if (*written.scope == later) return not_available("scope: " + *written.scope);
    }
    if (!profile.scope) return wrong("scope", "expected run, session, agent, workspace or shared");
    if (profile.lifecycle) TRY_OK(check_life(*profile.lifecycle, *profile.scope));
  }
  if (written.on_expire == "snapshot") return not_available("on_expire: snapshot");
  TRY(profile.on_expire, to_end("on_expire", written.on_expire));
  TRY(profile.on_idle, to_end("on_idle", written.on_idle));
  if (written.on_failure) {
    profile.on_failure = json::find_enum<OnFailure>(*written.on_failure);
    if (!profile.on_failure) return wrong("on_failure", "expected fail or recreate");
  }
  if (written.network) {
    const auto text = text_of(*written.network).value_or("");
    profile.network = text == "deny" ? Network::none : json::find_enum<Network>(text);
    if (!profile.network) {
      return not_available("network").with_hint(
          "none, or bridge for the network of a container engine: rules come later");
    }
  }
  return {};
}

Result<Profile> to_profile(WrittenProfile written) {
  Profile profile;
  TRY_OK(check_text("description", written.description));
  profile.description = written.description.value_or("");
  if (written.inherits) {
    auto parent = parse_profile_reference(*written.inherits);
    if (!parent) return std::move(parent).error().with("inherits");
    profile.inherits = *written.inherits;
  }
  TRY_OK(one_of_two("min_isolation", "isolation_level", written.min_isolation,
                    written.isolation_level));
  profile.min_isolation = written.min_isolation;
  profile.placement = written.placement;
  profile.workspace = written.workspace;
  TRY_OK(take_choices(written, profile));
  if (written.ttl) {
    TRY(profile.ttl_s, to_seconds("ttl", *written.ttl));
  }
  if (written.idle) {
    TRY(profile.idle_s, to_seconds("idle", *written.idle));
  }
  if (written.keep) {
    TRY(profile.keep_s, to_seconds("keep", *written.keep));
  }
  if (written.timeout) {
    TRY(profile.timeout_ms, to_ms("timeout", *written.timeout));
  }
  if (written.resources) {
    TRY(profile.resources, to_resources(*std::move(written.resources)));
  }
  if (written.image && written.template_) {
    return wrong("template", "a sandbox has one root: this or image");
  }
  TRY_OK(check_text("image", written.image));
  TRY_OK(check_text("template", written.template_));
  TRY_OK(check_text("user", written.user));
  TRY_OK(check_path("home", written.home));
  TRY_OK(check_path("workdir", written.workdir));
  TRY_OK(check_drivers("drivers", written.drivers));
  TRY_OK(check_drivers("fallback", written.fallback));
  if (written.fallback && !written.drivers) {
    return wrong("fallback", "it says what comes after `drivers`, and there are none");
  }
  profile.image = std::move(written.image);
  profile.template_ = std::move(written.template_);
  profile.user = std::move(written.user);
  profile.home = std::move(written.home);
  profile.workdir = std::move(written.workdir);
  if (written.env) profile.env = *std::move(written.env);
  if (written.labels) profile.labels = *std::move(written.labels);
  profile.drivers = std::move(written.drivers);
  profile.fallback = std::move(written.fallback);
  profile.strategy = written.strategy;
  if (written.driver_labels) {
    TRY_OK(check_driver_labels(*written.driver_labels));
    profile.driver_labels = *std::move(written.driver_labels);
  }
  TRY_OK(check_roots(written.mount_roots));
  profile.mount_roots = std::move(written.mount_roots);
  profile.allow_docker_socket = written.allow_docker_socket;
  TRY(profile.startup,
      read_startup(written.setup, written.requires_, written.readiness, written.hooks));
  profile.startup.layer = written.layer;
  if (written.dependencies) {
    TRY(profile.startup.dependencies, read_dependencies(*written.dependencies));
  }
  if (written.pool) {
    TRY(profile.pool, read_pool(*written.pool));
  }
  return profile;
}

// Of a file's own words: `name: python@2`, or `name: python` and `version: 2`.
Result<> take_name(std::string_view called, const WrittenProfile& written, Profile& profile) {
  auto reference = parse_profile_reference(called);
  if (!reference) return std::move(reference).error().with("name");
  if (reference->name == kNoProfile) {
    return wrong("name", "none means that there is no profile");
  }
  if (reference->version && written.version && *reference->version != *written.version) {
    return wrong("version", "the name says another version");
  }
  profile.name = reference->name;
  profile.version = reference->version.value_or(written.version.value_or(1));
  if (profile.version >= 1 && profile.version <= kHighestVersion) return {};
  return wrong("version", "it is a number from 1 to 9999");
}

class Reader final {
 public:
  Reader(const ProfileText& source, const json::Document& document)
      : source_(source), document_(document) {}

  ReadProfiles read() {
    const auto* object = document_.value().if_object();
    if (object == nullptr) {
      return fail("", Error(Code::invalid_argument, "the file is no map of NAME: value"));
    }
    const json::Value* many = object->if_contains("profiles");
    if (source_.form == Form::configuration) {
      if (many != nullptr && many->is_object()) read_many(*many);
      return std::move(read_);
    }
    if (many == nullptr) {
      read_one(document_.value(), json::Path{}, std::nullopt);
      return std::move(read_);
    }
    for (const auto& member : *object) {
      if (member.key() == "profiles") continue;
      return fail(std::string(member.key()),
                  Error(Code::invalid_argument, "it stands beside `profiles`, and nothing may")
                      .with_hint("put it into one of the profiles"));
    }
    read_many(*many);
    return std::move(read_);
  }

 private:
  ReadProfiles fail(const std::string& path, Error error) {
    read_.problems.push_back(document_.locate(path, std::move(error)));
    return std::move(read_);
  }

  void read_many(const json::Value& many) {
    const auto* object = many.if_object();
    if (object == nullptr) {
      read_.problems.push_back(document_.locate(
          "profiles", Error(Code::invalid_argument, "it is a map of NAME[@VERSION]: profile")
                          .with("profiles")));
      return;
    }
    const json::Path root;
    const json::Path top = root.child("profiles");
    for (const auto& member : *object) {
      if (read_.profiles.size() >= kMostProfiles) {
        read_.problems.push_back(
            Error(Code::too_large, "there are more than 500 profiles").with(source_.file));
        return;
      }
      const std::string name(member.key());
      read_one(member.value(), top.child(name), name);
    }
  }

  void read_one(const json::Value& value, const json::Path& path,
                std::optional<std::string> called) {
    auto one = to_read(value, path, called);
    if (one) {
      read_.profiles.push_back(*std::move(one));
    } else {
      read_.problems.push_back(std::move(one).error());
    }
  }

  Result<ReadProfile> to_read(const json::Value& value, const json::Path& path,
                              const std::optional<std::string>& called) {
    TRY(auto written, json::decode_part<WrittenProfile>(document_, value, path));
    const std::string where = json::to_string(path);
    if (called && written.name && *called != *written.name) {
      return locate(where, wrong("name", "it is called otherwise in its map"));
    }
    const auto name = called ? called : written.name;
    if (!name) return locate(where, wrong("name", "missing"));
    ReadProfile read{.origin = source_.origin, .file = source_.file};
    auto profile = to_profile(written);
    if (!profile) {
      return locate(where, std::move(profile).error(), "profile " + to_printable(*name));
    }
    read.profile = *std::move(profile);
    auto named = take_name(*name, written, read.profile);
    if (!named) return locate(where, std::move(named).error());
    read.line = document_.line_of(where);
    return read;
  }

  // Messages begin with the field; its line is the one to name.
  Error locate(const std::string& where, Error error, const std::string& whose = "") const {
    const std::string field = error.message().substr(0, error.message().find(": "));
    const std::string path = where.empty() ? field : where + "." + field;
    if (!whose.empty()) error = std::move(error).with(whose);
    return document_.locate(path, std::move(error));
  }

  const ProfileText& source_;
  const json::Document& document_;
  ReadProfiles read_;
};

}  // namespace

std::string ProfileReference::text() const {
  return version ? name + "@" + std::to_string(*version) : name;
}

Result<ProfileReference> parse_profile_reference(std::string_view text) {
  const auto bad = [&] {
    return Error(Code::invalid_argument,
                 "a profile is called NAME[@VERSION], in small letters, digits, _ and -; not " +
                     json::quote(text.substr(0, 80)));
  };
  ProfileReference reference;
  const size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  const bool fine =
      !name.empty() && name.size() <= 63 && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
  if (!fine) return bad();
  reference.name = name;
  if (at == std::string_view::npos) return reference;
  const std::string_view digits = text.substr(at + 1);
  int64_t version = 0;
  const auto [end, trouble] =
      std::from_chars(digits.data(), digits.data() + digits.size(), version);
  const bool is_number = trouble == std::errc() && end == digits.data() + digits.size() &&
                         version >= 1 && version <= kHighestVersion && digits[0] != '0';
  if (!is_number) return bad();
  reference.version = version;
  return reference;
}

Scope Profile::used_for() const {
  if (scope) return *scope;
  if (lifecycle == Life::workspace) return Scope::workspace;
  return lifecycle == Life::ephemeral ? Scope::run : Scope::session;
}

Result<> check_life(Life life, Scope scope) {
  switch (life) {
    case Life::session:
      if (scope == Scope::session) return {};
      return wrong("lifecycle", "session is for sandboxes that nobody shares, scope: session");
    case Life::persistent:
      if (scope == Scope::session) return {};
      return wrong("lifecycle", "persistent is for sandboxes that nobody holds, scope: session");
    case Life::ephemeral:
      if (scope == Scope::run) return {};
      return wrong("lifecycle", "ephemeral is for single commands, scope: run");
    case Life::workspace:
      if (scope != Scope::run && scope != Scope::session) return {};
      return wrong("lifecycle",
                   "workspace is for sandboxes that sessions hold, scope: workspace, agent or "
                   "shared");
  }
  return {};
}

ReadProfiles read_profiles(const ProfileText& text) {
  ReadProfiles read;
  const auto document =
      json::parse_yaml(text.text, text.file, {.max_bytes = kLargestProfileFile, .max_depth = 16});
  if (!document) {
    read.problems.push_back(document.error());
    return read;
  }
  return Reader(text, *document).read();
}

}  // namespace atl::policy
