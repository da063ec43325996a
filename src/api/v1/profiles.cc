// /v1/profiles and /v1/plan: what sandboxes can be made like, and what would become of a request.
#include "policy/profiles.h"

#include "api/body.h"
#include "api/object_writer.h"
#include "api/v1/handlers.h"
#include "api/v1/profile_wire.h"
#include "api/v1/sandbox_wire.h"
#include "core/route_plan.h"

namespace atl::api::v1 {
namespace {

using policy::KnownProfile;
using policy::Profile;

// Where it lies is the operator's business.
std::string_view source_of(policy::Origin origin) {
  switch (origin) {
    case policy::Origin::built_in:
      return "built-in";
    case policy::Origin::operators:
      return "operator";
    case policy::Origin::project:
      return "project";
  }
  return "";
}

void append_head(ObjectWriter& object, const KnownProfile& known) {
  const Profile& profile = known.profile;
  object.member("name", profile.name);
  object.member("version", profile.version);
  object.member("reference", profile.reference());
  object.member("description", profile.description);
  object.member("source", source_of(known.origin));
}

template <typename T>
void append_if(ObjectWriter& object, std::string_view name, const std::optional<T>& value) {
  if (value) object.member(name, *value);
}

std::string encode_steps(const std::vector<policy::SetupStep>& steps) {
  std::string json = "[";
  for (const auto& step : steps) {
    if (json.back() != '[') json += ',';
    ObjectWriter object(json);
    object.member("run", step.command);
    object.member("timeout_ms", step.timeout_ms);
    object.close();
  }
  return json + "]";
}

void append_startup(ObjectWriter& object, const policy::Startup& startup) {
  if (startup.dependencies) {
    ObjectWriter needs(object.key("dependencies"));
    needs.member("pip", startup.dependencies->pip);
    needs.member("npm", startup.dependencies->npm);
    needs.member("apt", startup.dependencies->apt);
    needs.close();
  }
  append_if(object, "layer", startup.layer);
  if (startup.setup) object.key("setup") += encode_steps(*startup.setup);
  if (startup.requires_) {
    std::vector<std::string> texts;
    for (const auto& requirement : *startup.requires_) texts.push_back(requirement.text);
    object.member("requires", texts);
  }
  if (startup.after_start || startup.before_stop) {
    ObjectWriter hooks(object.key("hooks"));
    if (startup.after_start) hooks.key("after_start") += encode_steps(*startup.after_start);
    if (startup.before_stop) hooks.key("before_stop") += encode_steps(*startup.before_stop);
    hooks.close();
  }
  if (!startup.readiness) return;
  ObjectWriter readiness(object.key("readiness"));
  if (startup.readiness->port) {
    readiness.member("port", static_cast<int64_t>(*startup.readiness->port));
  } else {
    readiness.member("run", startup.readiness->command);
  }
  readiness.member("interval_ms", startup.readiness->interval_ms);
  readiness.member("timeout_ms", startup.readiness->timeout_ms);
  readiness.close();
}

void append_settings(std::string& json, const Profile& profile) {
  ObjectWriter object(json);
  append_if(object, "min_isolation", profile.min_isolation);
  append_if(object, "placement", profile.placement);
  append_if(object, "persistence", profile.persistence);
  append_if(object, "scope", profile.scope);
  append_if(object, "workspace", profile.workspace);
  append_if(object, "network", profile.network);
  append_if(object, "mount_roots", profile.mount_roots);
  append_if(object, "allow_docker_socket", profile.allow_docker_socket);
  append_if(object, "ttl_s", profile.ttl_s);
  append_if(object, "idle_s", profile.idle_s);
  append_if(object, "on_expire", profile.on_expire);
  append_if(object, "on_idle", profile.on_idle);
  append_if(object, "keep_s", profile.keep_s);
  append_if(object, "on_failure", profile.on_failure);
  append_if(object, "timeout_ms", profile.timeout_ms);
  object.member("resources", profile.resources);
  append_if(object, "image", profile.image);
  append_if(object, "template", profile.template_);
  append_if(object, "user", profile.user);
  append_if(object, "home", profile.home);
  append_if(object, "workdir", profile.workdir);
  std::vector<std::string> names;
  names.reserve(profile.env.size());
  for (const auto& [name, value] : profile.env) names.push_back(name);
  if (!names.empty()) object.member("env", names);
  if (!profile.labels.empty()) object.member("labels", profile.labels);
  append_if(object, "drivers", profile.drivers);
  append_if(object, "fallback", profile.fallback);
  append_if(object, "strategy", profile.strategy);
  if (!profile.driver_labels.empty()) object.member("driver_labels", profile.driver_labels);
  append_startup(object, profile.startup);
  append_if(object, "pool", profile.pool);
  object.close();
}

}  // namespace

std::string encode_profiles(const policy::Profiles& profiles) {
  std::string json = R"({"profiles":[)";
  for (const KnownProfile* known : profiles.all()) {
    if (json.back() != '[') json += ',';
    ObjectWriter object(json);
    append_head(object, *known);
    append_if(object, "min_isolation", known->profile.min_isolation);
    object.member("resources", known->profile.resources);
    object.close();
  }
  return json + "]}";
}

std::string encode_profile(const KnownProfile& known) {
  std::string json;
  ObjectWriter object(json);
  append_head(object, known);
  object.member("chain", known.chain);
  append_settings(object.key("settings"), known.profile);
  object.member("from", known.from);
  object.close();
  return json;
}

Task<> list_profiles(Call& call) {
  co_return co_await call.answer(200, encode_profiles(call.engine().profiles()));
}

Task<> get_profile(Call& call) {
  auto known = call.engine().profiles().get(call.request().segments[2]);
  if (!known) co_return std::move(known).error().at_stage("request");
  co_return co_await call.answer(200, encode_profile(**known));
}

Task<> plan(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireCreate>(call, kMostCreateJson));
  CO_TRY(auto request, to_request(std::move(wire), call.visitor().seat, call.templates(),
                                  &call.engine().profiles()));
  const std::string as(call.request().query.get("as"));
  CO_TRY(const auto told, co_await call.engine().plan(call.caller(), std::move(request), as));
  co_return co_await call.answer(200, json::encode(told));
}

}  // namespace atl::api::v1
