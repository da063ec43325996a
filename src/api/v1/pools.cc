// /v1/pools: sandboxes that are made ahead; POST /v1/sandboxes/{id}/release: giving one back.
#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"
#include "core/request_check.h"
#include "crypto/hash.h"

namespace atl::api::v1 {
namespace {

struct WirePool {
  static constexpr std::string_view kSchema = "CreatePool";
  std::string name;
  std::optional<std::string> profile;
  std::optional<std::string> driver;
  std::optional<std::string> image;
  std::optional<std::string> template_;
  std::optional<std::string> runtime;
  std::optional<Resources> resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::optional<Network> network;
  std::optional<Persistence> persistence;
  std::optional<int64_t> min;
  std::optional<int64_t> target;
  std::optional<int64_t> max;
  std::optional<int64_t> idle_s;
  std::optional<int64_t> max_age_s;
};
BOOST_DESCRIBE_STRUCT(WirePool, (),
                      (name, profile, driver, image, template_, runtime, resources, min_isolation,
                       placement, network, persistence, min, target, max, idle_s, max_age_s))

struct WirePoolSize {
  static constexpr std::string_view kSchema = "ChangePool";
  std::optional<int64_t> min;
  std::optional<int64_t> target;
  std::optional<int64_t> max;
  std::optional<int64_t> idle_s;
  std::optional<int64_t> max_age_s;
};
BOOST_DESCRIBE_STRUCT(WirePoolSize, (), (min, target, max, idle_s, max_age_s))

// What is said about a sandbox that its pool does not decide.
struct WireAcquire {
  static constexpr std::string_view kSchema = "Acquire";
  std::optional<std::string> name;
  std::optional<std::string> user_id;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<std::map<std::string, std::string>> labels;
};
BOOST_DESCRIBE_STRUCT(WireAcquire, (), (name, user_id, ttl_s, idle_s, labels))

struct WireRelease {
  static constexpr std::string_view kSchema = "Release";
  std::optional<bool> corrupted;
};
BOOST_DESCRIBE_STRUCT(WireRelease, (), (corrupted))

constexpr openapi::Field kMin{"min",
                              "So many are ready, however quiet it is.",
                              {.least = 0, .most = policy::kLargestPool},
                              R"({"default":0})"};
constexpr openapi::Field kTarget{"target",
                                 "So many while the pool is in use. Absent: `min`, or 1.",
                                 {.least = 0, .most = policy::kLargestPool}};
constexpr openapi::Field kMax{"max",
                              "So many when more is asked for. Absent: `target`.",
                              {.least = 1, .most = policy::kLargestPool}};
constexpr openapi::Field kIdle{"idle_s",
                               "What was not needed for so long is given back.",
                               {.least = 1, .most = policy::kLongestPoolTime},
                               R"({"default":600})"};
constexpr openapi::Field kMaxAge{
    "max_age_s",
    "What waited for so long is replaced.",
    {.least = policy::kShortestPoolAge, .most = policy::kLongestPoolTime},
    R"({"default":3600})"};

constexpr openapi::Field kPoolFields[] = {
    {"name", "", {}, R"({"pattern":"^[a-z][a-z0-9_-]{0,62}$"})"},
    {"profile", "`NAME[@VERSION]`, which says what is not said here."},
    {"driver", "Absent: the one that a request without one would get."},
    {"image", "", {.most = int64_t{kMostText}}},
    {"template", "`NAME[:TAG]`."},
    {"runtime", "", {.most = 64}},
    {"resources"},
    {"min_isolation"},
    {"placement"},
    {"network", "`bridge` takes a profile that allows it."},
    {"persistence", "", {}, R"({"default":"ephemeral"})"},
    kMin,
    kTarget,
    kMax,
    kIdle,
    kMaxAge,
};
constexpr openapi::Field kSizeFields[] = {kMin, kTarget, kMax, kIdle, kMaxAge};
constexpr openapi::Field kAcquireFields[] = {
    {"name", "Unique within the tenant while it lives.", {}, openapi::kNamePattern},
    {"user_id", "Whose it is in the caller's own books.", {.most = int64_t{kMostText}}},
    {"ttl_s", "When it ends by itself. Absent: as a request without one.", {.least = 1}},
    {"idle_s", "It also ends when nobody has used it for so long.", {.least = 1}},
    {"labels", "", {.most = int64_t{kMostLabels}}},
};
constexpr openapi::Field kReleaseFields[] = {
    {"corrupted",
     "Nothing of it is kept, with `persistence: checkpoint` neither; it is destroyed in any case.",
     {},
     R"({"default":false})"},
};

// The {pool} of /v1/pools/{pool}.
std::string named(const Call& call) { return call.request().segments[2]; }

void append_pool(std::string& out, const PoolView& view) {
  ObjectWriter object(out);
  object.member("name", view.name);
  object.member("source",
                std::string_view(view.source == PoolSource::profile ? "profile" : "operator"));
  const PoolSpec& spec = view.spec;
  const auto word = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) object.member(name, value);
  };
  word("profile", spec.profile);
  word("driver", spec.driver);
  word("image", spec.image);
  word("template", spec.template_);
  word("runtime", spec.runtime);
  object.member("resources", spec.resources);
  if (spec.min_isolation) object.member("min_isolation", *spec.min_isolation);
  if (spec.placement) object.member("placement", *spec.placement);
  if (spec.network) object.member("network", *spec.network);
  if (spec.persistence != Persistence::ephemeral) object.member("persistence", spec.persistence);
  object.member("min", view.settings.min);
  object.member("target", view.settings.target);
  object.member("max", view.settings.max);
  object.member("idle_s", view.settings.idle_s);
  object.member("max_age_s", view.settings.max_age_s);
  object.member("level", static_cast<uint64_t>(view.level));
  object.member("ready", static_cast<uint64_t>(view.ready));
  object.member("filling", static_cast<uint64_t>(view.filling));
  object.member("hits", view.hits);
  object.member("misses", view.misses);
  const uint64_t asked = view.hits.count + view.misses.count;
  if (asked == 0) {
    object.null("hit_rate");
  } else {
    object.member("hit_rate", static_cast<double>(view.hits.count) / static_cast<double>(asked));
  }
  object.member("fills", view.fills);
  object.member("failures", view.failures);
  object.member("discarded", view.discarded);
  if (!view.trouble.empty()) object.member("trouble", view.trouble);
  object.close();
}

Task<> answer_pool(Call& call, PoolView view) {
  std::string json;
  append_pool(json, view);
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace

void describe_pool_requests(openapi::Schemas& schemas) {
  schemas.add<WirePool, kPoolFields>(
      R"({"examples":[{"name":"py","image":"python:3.12-slim","resources":{"memory_mb":512},"min":2,"max":8}]})");
  schemas.add<WirePoolSize, kSizeFields>();
  schemas.add<WireAcquire, kAcquireFields>();
  schemas.add<WireRelease, kReleaseFields>();
}

Task<> list_pools(Call& call) {
  std::string json;
  ObjectWriter object(json);
  object.key("pools") += '[';
  for (const auto& view : call.engine().pools()) {
    if (json.back() != '[') json += ',';
    append_pool(json, view);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_pool(Call& call) {
  CO_TRY(auto view, call.engine().get_pool(named(call)));
  co_return co_await answer_pool(call, std::move(view));
}

Task<> create_pool(Call& call) {
  CO_TRY(auto wire, co_await read_json<WirePool>(call, kMostJson));
  PoolSpec spec;
  spec.profile = std::move(wire.profile).value_or("");
  spec.driver = std::move(wire.driver).value_or("");
  spec.image = std::move(wire.image).value_or("");
  spec.template_ = std::move(wire.template_).value_or("");
  spec.runtime = std::move(wire.runtime).value_or("");
  spec.resources = wire.resources.value_or(Resources{});
  spec.min_isolation = wire.min_isolation;
  spec.placement = wire.placement;
  spec.network = wire.network;
  spec.persistence = wire.persistence.value_or(Persistence::ephemeral);
  spec.size = {wire.min, wire.target, wire.max, wire.idle_s, wire.max_age_s};
  CO_TRY(const auto view,
         co_await call.engine().create_pool(std::move(wire.name), std::move(spec)));
  net::Response response;
  response.status = 201;
  response.headers = call.headers("application/json");
  response.headers.add("Location", "/v1/pools/" + view.name);
  append_pool(response.body, view);
  co_return co_await call.answer_with(std::move(response));
}

Task<> change_pool(Call& call) {
  CO_TRY(const auto wire, co_await read_json<WirePoolSize>(call, kMostJson));
  const policy::PoolAsk ask{wire.min, wire.target, wire.max, wire.idle_s, wire.max_age_s};
  CO_TRY(auto view, co_await call.engine().change_pool(named(call), ask));
  co_return co_await answer_pool(call, std::move(view));
}

Task<> drain_pool(Call& call) {
  CO_TRY(auto view, call.engine().drain_pool(named(call)));
  co_return co_await answer_pool(call, std::move(view));
}

Task<> delete_pool(Call& call) {
  CO_TRY_OK(co_await call.engine().remove_pool(named(call)));
  co_return co_await call.answer_nothing();
}

Task<> acquire_sandbox(Call& call) {
  CO_TRY(auto wire, co_await read_optional_json<WireAcquire>(call));
  std::optional<Idempotency> idempotency;
  if (const auto key = call.request().headers.find("Idempotency-Key")) {
    const std::string asked = "acquire " + named(call) + " " + json::encode(wire);
    idempotency = Idempotency{std::string(*key), crypto::sha256_hex(asked)};
  }
  CO_TRY(auto request, call.engine().pool_request(named(call)));
  request.name = std::move(wire.name).value_or("");
  request.user_id = std::move(wire.user_id).value_or("");
  if (wire.ttl_s) request.ttl = std::chrono::seconds(*wire.ttl_s);
  if (wire.idle_s) request.idle = std::chrono::seconds(*wire.idle_s);
  if (wire.labels) request.labels.merge(*wire.labels);
  CO_TRY(const auto view,
         co_await call.engine().create(call.caller(), std::move(request), std::move(idempotency)));
  net::Response response;
  response.status = view.was_there ? 200 : 201;
  response.headers = call.headers("application/json");
  response.headers.add("Location", "/v1/sandboxes/" + view.id);
  append_sandbox(response.body, view);
  co_return co_await call.answer_with(std::move(response));
}

Task<> release_sandbox(Call& call) {
  CO_TRY(const auto wire, co_await read_optional_json<WireRelease>(call));
  // Nobody is to begin with what was spoilt.
  const Remains remains = wire.corrupted.value_or(false) ? Remains::discarded : Remains::as_asked;
  CO_TRY_OK(co_await call.engine().destroy(call.caller(), call.sandbox(), remains));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
