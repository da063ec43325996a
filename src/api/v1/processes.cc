// /v1/sandboxes/{id}/processes: what runs and ran, and the way back to it.
#include <boost/asio/this_coro.hpp>

#include "api/body.h"
#include "api/openapi/requests.h"
#include "api/parameters.h"
#include "api/v1/follow.h"
#include "api/v1/handlers.h"
#include "api/v1/process_choice.h"
#include "api/v1/signal_name.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kStdinPiece = 64 * 1024;

struct WireSignal {
  static constexpr std::string_view kSchema = "Signal";
  json::Value signal;
};
BOOST_DESCRIBE_STRUCT(WireSignal, (), (signal))

constexpr openapi::Field kSignalFields[] = {
    {"signal",
     "A number, or a name with or without SIG.",
     {},
     R"({"oneOf":[{"type":"integer","minimum":1,"maximum":64},{"type":"string","examples":["SIGTERM","KILL"]}]})"},
};

void append_kept(std::string& out, uint64_t first, uint64_t end) {
  ObjectWriter object(out);
  object.member("first", first);
  object.member("end", end);
  object.close();
}

void append_process(std::string& out, const ProcessInfo& info) {
  ObjectWriter object(out);
  object.member("process", info.id);
  object.member("pid", info.pid);
  object.member("argv", info.argv);
  if (!std::ranges::all_of(info.argv, [](const auto& argument) { return is_utf8(argument); })) {
    std::vector<std::string> encoded;
    encoded.reserve(info.argv.size());
    for (const auto& argument : info.argv) encoded.push_back(to_base64(argument));
    object.member("argv_b64", encoded);
  }
  object.bytes("cwd", info.cwd);
  object.member("started_at", to_rfc3339(info.started_at));
  object.member("running", info.running);
  if (info.terminal) object.member("tty", true);
  // What is still kept of each stream, as offsets from its beginning.
  append_kept(object.key("stdout"), info.stdout_first, info.stdout_end);
  append_kept(object.key("stderr"), info.stderr_first, info.stderr_end);
  if (!info.running) {
    ObjectWriter exit(object.key("exit"));
    append_exit(exit, info.status, Truncated::no);
    exit.close();
  }
  object.close();
}

// Whoever is attached and does not read slows the process down; so what it says meanwhile is read
// and dropped.
Task<> drain(std::shared_ptr<Process> process) {
  for (;;) {
    CO_TRY(const auto event, co_await process->next());
    if (std::holds_alternative<ExitStatus>(event)) co_return Result<>();
  }
}

Task<> copy_stdin(Call& call, Process& process) {
  std::string buffer(kStdinPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), kStdinPiece));
    if (got == 0) co_return Result<>();
    CO_TRY_OK(co_await process.write_stdin(buffer.substr(0, got)));
  }
}

}  // namespace

void describe_process_requests(openapi::Schemas& schemas) {
  schemas.add<WireSignal, kSignalFields>();
}

Task<ProcessInfo> get_process(Guest& guest, std::optional<ProcessId> id) {
  CO_TRY(auto infos, co_await guest.processes());
  ProcessInfo* found = nullptr;
  for (auto& info : infos) {
    if (id ? info.id == *id : found == nullptr || info.id > found->id) found = &info;
  }
  if (found != nullptr) co_return std::move(*found);
  co_return Error(Code::not_found, id ? "no process " + std::to_string(*id)
                                      : std::string("nothing has run in this sandbox yet"))
      .with_hint("GET /v1/sandboxes/{id}/processes lists them");
}

Task<> list_processes(Call& call) {
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(const auto infos, co_await lease->processes());
  std::string json;
  ObjectWriter object(json);
  object.key("processes") += '[';
  for (const auto& info : infos) {
    if (json.back() != '[') json += ',';
    append_process(json, info);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> attach_output(Call& call) {
  const auto& query = call.request().query;
  CO_TRY(const auto id, call.process());
  CO_TRY(const auto from_out, read_number(query, "stdout_offset", UINT64_MAX));
  CO_TRY(const auto from_err, read_number(query, "stderr_offset", UINT64_MAX));
  CO_TRY(const auto keep, read_number(query, "max_output_bytes", kMostKeep));
  CO_TRY(const auto on_disconnect, read_on_disconnect(call.request()));
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto attached, co_await lease->attach(id, {from_out.value_or(0), from_err.value_or(0)}));

  const auto sink = make_sink(call, find_reply(call.request()), keep.value_or(kDefaultKeep));
  Followed followed{std::move(lease), std::move(attached), on_disconnect, {}, AfterStdin::close};
  auto status = co_await follow(call, std::move(followed), *sink);
  if (!status) co_return co_await sink->fail(std::move(status).error());
  co_return co_await sink->end(*status, std::nullopt);
}

Task<> write_stdin(Call& call) {
  CO_TRY(const auto id, call.process());
  CO_TRY(const auto eof, read_flag(call.request().query, "eof"));
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(const auto info, co_await get_process(*lease, id));
  if (!info.running) {
    co_return Error(Code::conflict, "process " + std::to_string(id) + " has ended");
  }
  CO_TRY(auto attached, co_await lease->attach(id, {info.stdout_end, info.stderr_end}));
  const std::shared_ptr<Process> process = std::move(attached);

  const auto executor = co_await asio::this_coro::executor;
  spawn(executor, drain(process), [lease](Result<>) {});
  call.exchange().wait_for_body_forever();
  auto copied = co_await copy_stdin(call, *process);
  if (copied && eof.value_or(true)) copied = co_await process->close_stdin();
  process->interrupt();
  if (!copied) co_return std::move(copied).error().with("writing stdin");
  co_return co_await call.answer_nothing();
}

Task<> signal_process(Call& call) {
  CO_TRY(const auto wire, co_await read_json<WireSignal>(call, kMostJson));
  CO_TRY(const auto number, to_signal(wire.signal));
  CO_TRY(const auto id, call.process());
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY_OK(co_await lease->signal(id, number));
  co_return co_await call.answer_nothing();
}

Task<> resize_process(Call& call) {
  CO_TRY(const auto wire, co_await read_json<WireTerminal>(call, kMostJson));
  CO_TRY(const auto size, to_size(wire));
  CO_TRY(const auto id, call.process());
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY_OK(co_await lease->resize(id, size));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
