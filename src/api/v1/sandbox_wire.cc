#include "api/v1/sandbox_wire.h"

#include <fcntl.h>

#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "base/text.h"
#include "core/preparation.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "crypto/hash.h"
#include "json/path.h"
#include "os/file.h"
#include "template/templates.h"

namespace atl::api::v1 {
namespace {

Error invalid(std::string field, std::string_view problem) {
  return Error(Code::invalid_argument, std::move(field) + ": " + std::string(problem))
      .at_stage("request");
}

// O_PATH: the descriptor names the directory and reads nothing of it.
Result<HostDirectory> open_host_dir(WireHostDir wire, const std::string& field) {
  if (!wire.path.starts_with('/') || wire.path.find('\0') != std::string::npos) {
    return invalid(field, "it is an absolute path on this host");
  }
  auto directory = os::open_at(AT_FDCWD, wire.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!directory) return invalid(field, directory.error().message());
  HostDirectory opened;
  opened.directory = std::move(*directory);
  opened.guest_path = wire.guest_path.value_or(wire.path);
  opened.host_path = std::move(wire.path);
  opened.access = wire.access;
  return opened;
}

Result<> check_seat(std::string_view field, Seat seat) {
  if (seat == Seat::local) return {};
  return Error(Code::permission_denied,
               std::string(field) +
                   ": directories of the host are given only over the daemon's own Unix "
                   "socket, to the user that the daemon runs as")
      .with_hint("upload the files with PUT /v1/sandboxes/{id}/files, or call on the host itself")
      .at_stage("request");
}

Result<> add_root(CreateRequest& request, std::string path, Seat seat) {
  TRY_OK(check_seat("rootfs", seat));
  WireHostDir wire{.path = std::move(path), .guest_path = "/", .access = HostAccess::cow};
  TRY(request.root, open_host_dir(std::move(wire), "rootfs"));
  return {};
}

// What is given, and says nothing, was meant to say something: a variable that is not set, mostly.
Result<> check_not_empty(std::string_view field, const std::optional<std::string>& value) {
  if (!value || !value->empty()) return {};
  return invalid(std::string(field), "it is empty").with_hint("leave it out for what is usual");
}

Result<> add_host_dirs(CreateRequest& request, std::vector<WireHostDir> wires, Seat seat) {
  if (wires.empty()) return {};
  TRY_OK(check_seat("host_dirs", seat));
  for (size_t i = 0; i < wires.size(); ++i) {
    const std::string field = "host_dirs[" + std::to_string(i) + "]";
    const bool is_workspace = wires[i].workspace.value_or(false);
    TRY(auto opened, open_host_dir(std::move(wires[i]), field + ".path"));
    if (!is_workspace) {
      request.mounts.push_back(std::move(opened));
    } else if (request.workspace) {
      return invalid(field + ".workspace", "a sandbox has one workspace");
    } else {
      request.workspace = std::move(opened);
    }
  }
  return {};
}

std::optional<std::chrono::seconds> to_seconds(std::optional<int64_t> count) {
  if (!count) return std::nullopt;
  return std::chrono::seconds(*count);
}

// Its words come before those of the template's image.
Result<> add_profile(CreateRequest& request, WireCreate& wire, const policy::Profiles& profiles) {
  if (request.profile.empty() || request.profile == policy::kNoProfile) return {};
  auto known = profiles.get(request.profile);
  if (!known) return std::move(known).error().with("profile").at_stage("request");
  const policy::Profile& profile = (*known)->profile;
  const bool names_image = !request.image.empty();
  merge_profile(request, profile);
  if (wire.template_ && !names_image) request.image.clear();
  const bool has_root = request.root || wire.template_ || !request.image.empty();
  if (!has_root) wire.template_ = profile.template_;
  return {};
}

constexpr openapi::Field kHostDirFields[] = {
    {"path", "Absolute."},
    {"guest_path", "Absolute in the sandbox. Absent: the same path."},
    {"access",
     "Read-only, read and write, or a copy that is made as it is written to.",
     {},
     R"({"default":"ro"})"},
    {"workspace", "It is the workspace itself.", {}, R"({"default":false})"},
};

constexpr openapi::Field kCreateFields[] = {
    {"driver", "Absent: the first that is strong enough."},
    {"run_mode",
     "A named route instead of a driver: `auto`, `docker` (then native), `wasm` (then docker, then "
     "native), or the name of a driver, which is then the only one. No route goes below the floor.",
     {.most = 64}},
    {"strategy",
     "In which order drivers are asked that would all do: as they are configured, by measured "
     "start, by price, "
     "in turn, or by configured weight. Absent: the profile's, else the daemon's."},
    {"profile",
     "`NAME[@VERSION]` of a profile, which says what the request does not; without a version, the "
     "highest. `none` is without one.",
     {},
     R"({"default":"none"})"},
    {"name", "Unique within the tenant while it lives.", {}, openapi::kNamePattern},
    {"user_id", "Whose it is in the caller's own books.", {.most = int64_t{kMostText}}},
    {"ttl_s", "When it ends by itself. Absent: as the daemon is configured.", {.least = 1}},
    {"idle_s", "It also ends, or rests, when nobody has used it for so long.", {.least = 1}},
    {"on_expire",
     "What becomes of it at the end of `ttl_s`: with `stop` or `pause` it is kept for `keep_s`, "
     "and "
     "whoever uses it next wakes it.",
     {},
     R"({"default":"kill"})"},
    {"on_idle",
     "What becomes of it after `idle_s`; with `stop` or `pause`, whoever uses it next wakes it.",
     {},
     R"({"default":"kill"})"},
    {"keep_s",
     "How long it is kept after `ttl_s`, with an `on_expire` that keeps it. Absent: a day.",
     {.least = 1}},
    {"on_failure",
     "With `recreate` it is made anew under its id when it dies or does not answer, a few times; "
     "what was in it is gone then.",
     {},
     R"({"default":"fail"})"},
    {"labels", "", {.most = int64_t{kMostLabels}}},
    {"env", "For every command. Never stored or told.", {.most = int64_t{kMostEnv}}},
    {"resources"},
    {"min_isolation", "A floor that no fallback goes below."},
    {"isolation_level", "An alias of min_isolation."},
    {"placement"},
    {"driver_labels",
     "Which the driver must have, as the operator has given them. Names and values of up to 63 "
     "letters, digits and . _ - /.",
     {.most = int64_t{policy::kMostDriverLabels}}},
    {"host_dirs",
     "Directories of the daemon's host. Only over the Unix socket, from the daemon's own user or "
     "root.",
     {.most = int64_t{kMostMounts}}},
    {"rootfs",
     "A directory of the daemon's host as the root file system, copied on write. Absolute; given "
     "like `host_dirs`."},
    {"template",
     "`NAME[:TAG]` of a template as the root file system, copied on write. Its image's "
     "environment, "
     "user and working directory hold where the request says nothing."},
    {"image",
     "An image as the root file system, by the name that the driver's engine has for it: "
     "`NAME[:TAG]` "
     "or `NAME@sha256:DIGEST`.",
     {.most = int64_t{kMostText}}},
    {"pull", "When the engine fetches that image.", {}, R"({"default":"missing"})"},
    {"runtime",
     "A runtime of the driver's engine, one of its `runtimes`; it decides the isolation.",
     {.most = 64}},
    {"persistence",
     "`persistent`: what is changed in the root file system is the sandbox's own and in its "
     "snapshots. `checkpoint`: before it ends, by a call or by itself, it is kept as a snapshot, "
     "and "
     "the next sandbox of its name begins with that; if it cannot be kept it does not end.",
     {},
     R"({"default":"ephemeral"})"},
    {"checkpoint", "What `persistence: checkpoint` keeps: files, or memory, too. Absent: files."},
    {"lifecycle",
     "`persistent`: it has no time that could be up, and ends with the server or by a call; this "
     "takes a profile that says so, or an administrator. `workspace`: as long as the sessions of "
     "a workspace that hold it, and only in the `sandbox` of a session. `ephemeral`: a run's, "
     "which ends with its command. Absent: as the profile says, else session."},
    {"network",
     "`none`, and only where the network is really cut off; `bridge`, the network of a container "
     "engine, takes a profile that allows it. Absent: as the profile says, otherwise none."},
    {"snapshot",
     "The id or name of a snapshot that it starts from. It is made by the driver that has it, and "
     "what is absent of `resources`, `image`, `runtime`, `persistence` and `template` is as it was "
     "there. The environment is not in a snapshot.",
     {.most = 64}},
    {"warm",
     "An interpreter that is started ahead and waits for the first command, if that is a plain "
     "call "
     "of it. Where the driver cannot do that, nothing happens. A run needs not say it.",
     {},
     R"({"enum":["python3","node"]})"},
    {"user", "As whom commands run that do not say.", {.most = int64_t{kMostText}}},
    {"cwd", "Where commands run that do not say. Absent: the workspace."},
    {"queue_timeout_ms",
     "How long it may wait for its turn where there is no room now: 0 does not wait. Absent: as "
     "the "
     "daemon is configured. GET /v1/limits tells both, and the most.",
     {.least = 0}},
    {"files",
     "Text files that it has from the beginning, by path; a relative path is below the workspace.",
     {.most = int64_t{kMostInitialFiles}}},
    {"files_b64",
     "The same for bytes, in base64.",
     {.most = int64_t{kMostInitialFiles}},
     openapi::kBase64Values},
};

void give_root(CreateRequest& request, OpenTemplate opened) {
  request.root.emplace();
  request.root->directory = std::move(opened.root);
  request.root->host_path = std::move(opened.path);
  request.root->guest_path = "/";
  request.root->access = HostAccess::cow;
  request.template_id = std::move(opened.id);
  request.root_hold = std::move(opened.hold);
  request.root_users = std::move(opened.users);
  for (auto& [key, value] : opened.config.env) request.env.try_emplace(key, std::move(value));
  if (request.defaults.user.empty()) request.defaults.user = std::move(opened.config.user);
  if (request.defaults.cwd.empty()) request.defaults.cwd = std::move(opened.config.cwd);
}

}  // namespace

void describe_sandbox_requests(openapi::Schemas& schemas) {
  schemas.add<WireHostDir, kHostDirFields>();
  schemas.add<WireCreate, kCreateFields>(
      R"({"examples":[{"name":"dev","ttl_s":3600,"labels":{"team":"search"},"resources":{"cpu":2,"memory_mb":1024}}]})");
}

Result<> open_template(CreateRequest& request, const std::string& name, Templates* templates) {
  if (request.root) return invalid("template", "a sandbox has one root: this or rootfs");
  auto reference = parse_template_reference(name);
  if (!reference) return std::move(reference).error().with("template").at_stage("request");
  if (templates == nullptr) {
    return Error(Code::unavailable, "template: templates are kept by a daemon, and there is none")
        .with_hint("start one: atoll serve")
        .at_stage("request");
  }
  auto opened = templates->open_tree(*reference);
  if (!opened) return std::move(opened).error().with("template").at_stage("request");
  request.template_name = reference->text();
  give_root(request, *std::move(opened));
  return {};
}

Result<> reopen_template(CreateRequest& request, const std::string& id, Templates& templates) {
  TRY(auto opened, templates.open_version(id));
  give_root(request, std::move(opened));
  return {};
}

Result<CreateRequest> to_request(WireCreate wire, Seat seat, Templates* templates,
                                 const policy::Profiles* profiles) {
  CreateRequest request;
  if (wire.min_isolation && wire.isolation_level && wire.min_isolation != wire.isolation_level) {
    return invalid("isolation_level", "it is an alias of min_isolation, and the two differ");
  }
  request.driver = std::move(wire.driver).value_or("");
  request.run_mode = std::move(wire.run_mode).value_or("");
  request.strategy = wire.strategy;
  request.profile = std::move(wire.profile).value_or("");
  request.name = std::move(wire.name).value_or("");
  request.user_id = std::move(wire.user_id).value_or("");
  request.ttl = to_seconds(wire.ttl_s);
  request.idle = to_seconds(wire.idle_s);
  request.on_expire = wire.on_expire;
  request.on_idle = wire.on_idle;
  request.keep = to_seconds(wire.keep_s);
  request.on_failure = wire.on_failure;
  if (wire.labels) request.labels = *std::move(wire.labels);
  if (wire.env) request.env = *std::move(wire.env);
  request.resources = wire.resources.value_or(Resources{});
  request.min_isolation = wire.min_isolation ? wire.min_isolation : wire.isolation_level;
  request.placement = wire.placement;
  if (wire.driver_labels) request.driver_labels = *std::move(wire.driver_labels);
  TRY_OK(check_not_empty("image", wire.image));
  TRY_OK(check_not_empty("runtime", wire.runtime));
  TRY_OK(check_not_empty("snapshot", wire.snapshot));
  if (wire.snapshot && templates == nullptr && seat == Seat::local) {
    return Error(Code::unavailable, "snapshot: snapshots are kept by a daemon, and there is none")
        .with_hint("start one: atoll serve")
        .at_stage("request");
  }
  if (wire.host_dirs) TRY_OK(add_host_dirs(request, *std::move(wire.host_dirs), seat));
  if (wire.rootfs) TRY_OK(add_root(request, *std::move(wire.rootfs), seat));
  request.image = std::move(wire.image).value_or("");
  request.pull = wire.pull.value_or(Pull::missing);
  request.runtime = std::move(wire.runtime).value_or("");
  request.persistence = wire.persistence.value_or(Persistence::ephemeral);
  request.checkpoint = wire.checkpoint;
  request.lifecycle = wire.lifecycle;
  request.network = wire.network;
  request.snapshot = std::move(wire.snapshot).value_or("");
  request.warm = std::move(wire.warm).value_or("");
  request.defaults.user = std::move(wire.user).value_or("");
  request.defaults.cwd = std::move(wire.cwd).value_or("");
  if (wire.queue_timeout_ms) request.queue_timeout = Millis(*wire.queue_timeout_ms);
  if (profiles != nullptr) TRY_OK(add_profile(request, wire, *profiles));
  if (wire.template_) TRY_OK(open_template(request, *wire.template_, templates));
  TRY_OK(add_files(request.files, std::move(wire.files), std::move(wire.files_b64)));
  return request;
}

Result<> add_files(std::vector<NewFile>& files,
                   std::optional<std::map<std::string, std::string>> text,
                   std::optional<std::map<std::string, std::string>> b64) {
  if (text) {
    for (auto& [path, content] : *text) files.push_back({path, std::move(content)});
  }
  if (b64) {
    for (const auto& [path, content] : *b64) {
      auto bytes = from_base64(content);
      if (!bytes) return invalid("files_b64", "'" + to_printable(path) + "' is not base64");
      files.push_back({path, *std::move(bytes)});
    }
  }
  return {};
}

std::string hash_of(WireCreate wire) {
  wire.queue_timeout_ms.reset();
  return crypto::sha256_hex(json::encode(wire));
}

void append_sandbox(std::string& out, const SandboxView& view) {
  ObjectWriter object(out);
  object.member("id", view.id);
  object.member("name", view.name);
  object.member("tenant", view.tenant);
  object.member("owner", view.owner);
  object.member("state", view.state);
  object.member("lifecycle", view.lifecycle);
  object.member("driver", view.driver);
  object.member("isolation", view.isolation);
  object.member("placement", view.placement);
  if (!view.run_mode.empty()) object.member("run_mode", view.run_mode);
  object.member("profile", view.profile.empty() ? policy::kNoProfile : view.profile);
  if (!view.user_id.empty()) object.member("user_id", view.user_id);
  object.member("labels", view.labels);
  object.member("resources", view.resources);
  if (!view.template_name.empty()) object.member("template", view.template_name);
  if (!view.image.empty()) object.member("image", view.image);
  if (!view.runtime.empty()) object.member("runtime", view.runtime);
  if (view.persistence != Persistence::ephemeral) object.member("persistence", view.persistence);
  if (view.checkpoint) object.member("checkpoint", *view.checkpoint);
  if (view.network != Network::none) object.member("network", view.network);
  if (!view.snapshot.empty()) object.member("snapshot", view.snapshot);
  if (view.resets > 0) object.member("resets", view.resets);
  if (!view.defaults.user.empty()) object.bytes("user", view.defaults.user);
  if (!view.defaults.cwd.empty()) object.bytes("cwd", view.defaults.cwd);
  if (view.defaults.timeout.count() > 0) {
    object.member("timeout_ms", static_cast<int64_t>(view.defaults.timeout.count()));
  }
  object.member("created_at", to_rfc3339(view.created_at));
  if (view.expires_at) {
    object.member("expires_at", to_rfc3339(*view.expires_at));
  } else {
    object.null("expires_at");
  }
  if (view.idle) object.member("idle_s", static_cast<int64_t>(view.idle->count()));
  if (view.on_expire != OnEnd::kill) object.member("on_expire", view.on_expire);
  if (view.on_idle != OnEnd::kill) object.member("on_idle", view.on_idle);
  if (view.kept_until) object.member("kept_until", to_rfc3339(*view.kept_until));
  if (view.rest != Rest::none) object.member("rest", view.rest);
  if (view.on_failure != OnFailure::fail) object.member("on_failure", view.on_failure);
  if (view.health != Health::ok) object.member("health", view.health);
  if (view.recoveries > 0) object.member("recoveries", view.recoveries);
  object.member("last_active_at", to_rfc3339(view.last_active_at));
  if (!view.failure.empty()) object.member("failure", view.failure);
  if (!view.pool.empty()) object.member("pool", view.pool);
  if (view.is_parked) object.member("parked", true);
  if (view.queue_position) object.member("queue_position", *view.queue_position);
  object.member("stages", view.stages);
  object.close();
}

void append_start(std::string& out, const StartRecord& record) {
  ObjectWriter object(out);
  object.member("id", record.id);
  object.member("name", record.name);
  object.member("driver", record.driver);
  object.member("state", record.state);
  object.member("created_at", to_rfc3339(record.created_at));
  if (record.ended_at) object.member("ended_at", to_rfc3339(*record.ended_at));
  if (!record.failure.empty()) object.member("failure", record.failure);
  object.member("stages", record.stages);
  object.close();
}

void append_explanation(std::string& out, const Explanation& explanation) {
  ObjectWriter object(out);
  object.member("driver", explanation.driver);
  object.member("isolation", explanation.isolation);
  object.member("plan", explanation.plan);
  object.close();
}

}  // namespace atl::api::v1
