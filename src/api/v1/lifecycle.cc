// POST /v1/sandboxes/{id}/<verb>: everything that changes a sandbox which is there.
#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"
#include "core/request_check.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kMostForks = 64;

// The body of a verb that takes nothing: empty, or {}.
struct WireNothing {
  static constexpr std::string_view kSchema = "Nothing";
};
BOOST_DESCRIBE_STRUCT(WireNothing, (), ())

struct WireRenew {
  static constexpr std::string_view kSchema = "Renew";
  std::optional<int64_t> ttl_s;
};
BOOST_DESCRIBE_STRUCT(WireRenew, (), (ttl_s))

struct WireReset {
  static constexpr std::string_view kSchema = "Reset";
  std::optional<std::map<std::string, std::string>> env;
};
BOOST_DESCRIBE_STRUCT(WireReset, (), (env))

// What can be changed of a sandbox; what is absent stays.
struct WirePatch {
  static constexpr std::string_view kSchema = "PatchSandbox";
  Resources resources;
};
BOOST_DESCRIBE_STRUCT(WirePatch, (), (resources))

struct WireFork {
  static constexpr std::string_view kSchema = "Fork";
  std::optional<int64_t> count;
  std::optional<SnapshotKind> kind;
};
BOOST_DESCRIBE_STRUCT(WireFork, (), (count, kind))

constexpr openapi::Field kRenewFields[] = {
    {"ttl_s", "Absent: as long as it was given at first.", {.least = 1}},
};
constexpr openapi::Field kResetFields[] = {
    {"env", "For every command from now on. Never stored or told.", {.most = int64_t{kMostEnv}}},
};
constexpr openapi::Field kPatchFields[] = {{"resources"}};
constexpr openapi::Field kForkFields[] = {
    {"count", "", {.least = 1, .most = int64_t{kMostForks}}, R"({"default":1})"},
    {"kind", "With `memory` the processes go on in each copy.", {}, R"({"default":"disk"})"},
};

Task<> answer_view(Call& call, SandboxView view) {
  std::string json;
  append_sandbox(json, view);
  co_return co_await call.answer(200, std::move(json));
}

using Verb = Task<SandboxView> (Engine::*)(Caller, std::string);

Task<> change(Call& call, Verb verb) {
  CO_TRY([[maybe_unused]] const auto nothing, co_await read_optional_json<WireNothing>(call));
  CO_TRY(auto view, co_await (call.engine().*verb)(call.caller(), call.sandbox()));
  co_return co_await answer_view(call, std::move(view));
}

}  // namespace

void describe_lifecycle_requests(openapi::Schemas& schemas) {
  schemas.add_empty<WireNothing>(R"({"description":"Empty, or an empty object."})");
  schemas.add<WireRenew, kRenewFields>();
  schemas.add<WireReset, kResetFields>();
  schemas.add<WirePatch, kPatchFields>(R"({"description":"What is absent stays as it is."})");
  schemas.add<WireFork, kForkFields>();
}

Task<> stop_sandbox(Call& call) { return change(call, &Engine::stop); }
Task<> start_sandbox(Call& call) { return change(call, &Engine::start); }
Task<> recreate_sandbox(Call& call) { return change(call, &Engine::recreate); }
Task<> pause_sandbox(Call& call) { return change(call, &Engine::pause); }
Task<> resume_sandbox(Call& call) { return change(call, &Engine::resume); }

Task<> renew_sandbox(Call& call) {
  CO_TRY(const auto wire, co_await read_optional_json<WireRenew>(call));
  std::optional<std::chrono::seconds> ttl;
  if (wire.ttl_s) ttl = std::chrono::seconds(*wire.ttl_s);
  CO_TRY(auto view, co_await call.engine().renew(call.caller(), call.sandbox(), ttl));
  co_return co_await answer_view(call, std::move(view));
}

Task<> resize_sandbox(Call& call) {
  CO_TRY(const auto resources, co_await read_json<Resources>(call, kMostJson));
  CO_TRY(auto view, co_await call.engine().resize(call.caller(), call.sandbox(), resources));
  co_return co_await answer_view(call, std::move(view));
}

Task<> patch_sandbox(Call& call) {
  CO_TRY(const auto wire, co_await read_json<WirePatch>(call, kMostJson));
  CO_TRY(auto view, co_await call.engine().resize(call.caller(), call.sandbox(), wire.resources));
  co_return co_await answer_view(call, std::move(view));
}

Task<> reset_sandbox(Call& call) {
  CO_TRY(auto wire, co_await read_optional_json<WireReset>(call));
  auto env = std::move(wire.env).value_or(std::map<std::string, std::string>());
  CO_TRY(auto view, co_await call.engine().reset(call.caller(), call.sandbox(), std::move(env)));
  co_return co_await answer_view(call, std::move(view));
}

Task<> fork_sandbox(Call& call) {
  CO_TRY(const auto wire, co_await read_optional_json<WireFork>(call));
  const int64_t asked = wire.count.value_or(1);
  if (asked < 1 || asked > int64_t{kMostForks}) {
    co_return Error(Code::invalid_argument,
                    "count: it is between 1 and " + std::to_string(kMostForks))
        .at_stage("request");
  }
  const auto count = static_cast<size_t>(asked);
  const SnapshotKind kind = wire.kind.value_or(SnapshotKind::disk);
  CO_TRY(const auto views, co_await call.engine().fork(call.caller(), call.sandbox(), count, kind));
  std::string json;
  ObjectWriter object(json);
  object.key("sandboxes") += '[';
  for (const auto& view : views) {
    if (json.back() != '[') json += ',';
    append_sandbox(json, view);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(201, std::move(json));
}

}  // namespace atl::api::v1
