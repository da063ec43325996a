#include "container/engine_client.h"

#include <algorithm>
#include <set>

#include "base/event.h"
#include "base/text.h"
#include "container/container_spec.h"
#include "container/json_at_internal.h"
#include "json/write.h"

namespace atl::container {
namespace {

constexpr Millis kRemovePause{20};
constexpr Millis kRemovePatience{60'000};
constexpr Millis kUnbounded = std::chrono::hours(24 * 365);
constexpr Millis kEventsPatience{5'000};
constexpr size_t kLargestAnswer = 64 << 10;
constexpr size_t kMostRuntimes = 32;

std::string container_path(const std::string& name, std::string_view what) {
  return "/containers/" + net::percent_encode(name) + std::string(what);
}

std::string label_filter(std::vector<std::string> labels) {
  json::Array wanted;
  for (auto& label : labels) wanted.emplace_back(std::move(label));
  std::string filters;
  json::write_value(filters, json::Object{{"label", std::move(wanted)}});
  return filters;
}

// One of them is "name=seccomp,profile=default", unless the kernel has no seccomp.
bool has_seccomp(const json::Value* options) {
  if (options == nullptr || !options->is_array()) return false;
  return std::ranges::any_of(options->as_array(), [](const json::Value& option) {
    if (!option.is_string()) return false;
    const auto words = split(std::string_view(option.as_string()), ',');
    return std::ranges::find(words, "name=seccomp") != words.end() &&
           std::ranges::find(words, "profile=unconfined") == words.end();
  });
}

}  // namespace

struct EngineClient::Waits {
  std::set<net::ClientCall*> calls;
  bool is_closed = false;
};

EngineClient::EngineClient(asio::any_io_executor executor, const Dialect& dialect,
                           EngineAddress address, Paces paces)
    : executor_(executor),
      line_(executor, dialect, std::move(address), paces),
      waits_(std::make_shared<Waits>()) {}

Task<> EngineClient::create(std::string name, std::string body) {
  std::string path = "/containers/create?name=" + net::percent_encode(name);
  CO_TRY_OK(co_await line_.ask(net::Method::post, std::move(path), std::move(body), Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::put_archive(std::string name, std::string directory, std::string archive) {
  std::string path = container_path(name, "/archive?path=" + net::percent_encode(directory));
  CO_TRY_OK(co_await line_.ask(net::Method::put, std::move(path), std::move(archive), Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::start(std::string name) {
  std::string path = container_path(name, "/start");
  CO_TRY_OK(co_await line_.ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<ContainerState> EngineClient::inspect(std::string name) {
  std::string path = container_path(name, "/json");
  CO_TRY(const auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::quick));
  const json::Value* state = find(&told, "State");
  const json::Value* host = find(&told, "HostConfig");
  const json::Value* labels = find(find(&told, "Config"), "Labels");
  ContainerState found;
  found.is_running = flag_at(state, "Running");
  found.is_paused = flag_at(state, "Paused");
  found.pid = static_cast<int32_t>(number_at(state, "Pid"));
  found.exit_code = number_at(state, "ExitCode");
  found.memory_bytes = number_at(host, "Memory");
  found.pids = number_at(host, "PidsLimit");
  found.runtime = text_at(host, "Runtime");
  if (const json::Value* tmpfs = find(host, "Tmpfs"); tmpfs != nullptr && tmpfs->is_object()) {
    for (const auto& one : tmpfs->as_object()) found.tmpfs.emplace_back(one.key());
  }
  if (const json::Value* mounts = find(&told, "Mounts"); mounts != nullptr && mounts->is_array()) {
    for (const auto& one : mounts->as_array()) {
      if (text_at(&one, "Type") == "bind") found.shown.push_back(text_at(&one, "Destination"));
    }
  }
  found.network = text_at(host, "NetworkMode");
  found.has_read_only_root = flag_at(host, "ReadonlyRootfs");
  found.has_own_clock = !text_at(labels, kLabelOwnClock).empty();
  found.instance = text_at(labels, kLabelInstance);
  found.driver = text_at(labels, kLabelDriver);
  found.sandbox_id = text_at(labels, kLabelSandbox);
  found.generation = text_at(labels, kLabelGeneration);
  found.transport = text_at(labels, kLabelTransport);
  found.kernel = text_at(labels, kLabelKernel);
  found.lacked_memory = flag_at(state, "OOMKilled");
  co_return found;
}

Task<std::string> EngineClient::runtime_of(std::string name) {
  std::string path = container_path(name, "/json");
  CO_TRY(const auto told,
         co_await line_.ask(net::Method::get, std::move(path), {}, Pace::quick, Api::libpod));
  co_return text_at(&told, "OCIRuntime");
}

Task<EngineFacts> EngineClient::facts() {
  CO_TRY(const auto told, co_await line_.ask(net::Method::get, "/info", {}, Pace::quick));
  EngineFacts facts;
  facts.default_runtime = text_at(&told, "DefaultRuntime");
  // Podman's may be the path of a program, which bears its last name.
  facts.default_runtime.erase(0, facts.default_runtime.rfind('/') + 1);
  facts.kernel = text_at(&told, "KernelVersion");
  facts.architecture = text_at(&told, "Architecture");
  facts.storage = text_at(&told, "Driver");
  facts.filters_calls = has_seccomp(find(&told, "SecurityOptions"));
  const json::Value* table = find(&told, "Runtimes");
  if (table == nullptr || !table->is_object()) co_return facts;
  for (const auto& one : table->as_object()) {
    const std::string_view name = one.key();
    // Shims of containerd's own are the same once more.
    if (name.starts_with("io.containerd.") || facts.runtimes.size() >= kMostRuntimes) continue;
    auto& runtime = facts.runtimes.emplace_back();
    runtime.name = name;
    json::write_value(runtime.definition, one.value());
  }
  const bool is_listed = std::ranges::find(facts.runtimes, facts.default_runtime,
                                           &EngineFacts::Runtime::name) != facts.runtimes.end();
  if (!is_listed && !facts.default_runtime.empty() &&
      !facts.default_runtime.starts_with("io.containerd."))
    facts.runtimes.push_back({facts.default_runtime, ""});
  co_return facts;
}

Task<std::unique_ptr<FrameStream>> EngineClient::leave_http(std::string path, std::string body) {
  net::ClientRequest request;
  request.method = net::Method::post;
  request.target = std::move(path);
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Connection", "Upgrade");
  request.headers.add("Upgrade", "tcp");
  request.body = std::move(body);
  CO_TRY(const auto call, co_await line_.open(std::move(request)));
  CO_TRY_OK(co_await call->receive());
  // 101, or 200 from an engine that does not ask.
  if (call->head().status >= 300) {
    net::Response answer;
    answer.status = call->head().status;
    CO_TRY(answer.body, co_await call->read_all(kLargestAnswer));
    co_return line_.told_error(answer);
  }
  co_return std::make_unique<FrameStream>(call->release_stream());
}

Task<std::unique_ptr<FrameStream>> EngineClient::start_inside(std::string name,
                                                              std::vector<std::string> argv) {
  json::Array words;
  for (auto& word : argv) words.emplace_back(std::move(word));
  std::string body;
  json::write_value(body, json::Object{{"AttachStdin", true},
                                       {"AttachStdout", true},
                                       {"AttachStderr", true},
                                       {"Tty", false},
                                       {"Privileged", false},
                                       {"Cmd", std::move(words)}});
  std::string path = container_path(name, "/exec");
  CO_TRY(const auto told,
         co_await line_.ask(net::Method::post, std::move(path), std::move(body), Pace::slow));
  path = "/exec/" + net::percent_encode(text_at(&told, "Id")) + "/start";
  co_return co_await leave_http(std::move(path), R"({"Detach":false,"Tty":false})");
}

Task<std::unique_ptr<FrameStream>> EngineClient::listen_to(std::string name) {
  std::string path = container_path(name, "/attach?stream=1&stdout=1");
  co_return co_await leave_http(std::move(path), {});
}

Task<> EngineClient::pause(std::string name) {
  std::string path = container_path(name, "/pause");
  CO_TRY_OK(co_await line_.ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::resume(std::string name) {
  std::string path = container_path(name, "/unpause");
  CO_TRY_OK(co_await line_.ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::update(std::string name, std::string body) {
  std::string path = container_path(name, "/update");
  CO_TRY_OK(co_await line_.ask(net::Method::post, std::move(path), std::move(body), Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::remove(std::string name) {
  const auto give_up = std::chrono::steady_clock::now() + kRemovePatience;
  for (;;) {
    std::string path = container_path(name, "?force=1&v=1");
    auto removed = co_await line_.ask(net::Method::delete_, std::move(path), {}, Pace::slow);
    if (!removed && removed.error().code() == Code::not_found) co_return Result<>();
    const bool is_under_way = !removed && removed.error().code() == Code::conflict;
    if (!removed && !is_under_way) co_return std::move(removed).error();
    // Somebody removes it already, maybe the engine itself: gone is only what is not found.
    if (removed) {
      auto found = co_await inspect(name);
      if (!found && found.error().code() == Code::not_found) co_return Result<>();
    }
    if (std::chrono::steady_clock::now() > give_up) {
      co_return Error(Code::unavailable,
                      std::string(line_.dialect().name) + " does not remove " + name)
          .with_hint("remove it by hand: " + std::string(line_.dialect().name) + " rm --force " +
                     name);
    }
    Event nothing(executor_);
    auto waited = co_await nothing.wait_for(kRemovePause);
    if (!waited && waited.error().code() == Code::cancelled) co_return std::move(waited).error();
  }
}

Task<> EngineClient::remove_labelled(std::vector<std::string> labels) {
  CO_TRY(const auto rows, co_await find_labelled(std::move(labels)));
  for (const json::Value& row : rows) {
    const std::string id = text_at(&row, "Id");
    if (!id.empty()) CO_TRY_OK(co_await remove(id));
  }
  co_return Result<>();
}

Task<std::vector<std::string>> EngineClient::list(std::vector<std::string> labels) {
  CO_TRY(const auto rows, co_await find_labelled(std::move(labels)));
  std::vector<std::string> ids;
  for (const json::Value& row : rows) ids.push_back(text_at(find(&row, "Labels"), kLabelSandbox));
  co_return ids;
}

Task<std::vector<LabelledContainer>> EngineClient::list_owners(std::vector<std::string> labels) {
  CO_TRY(const auto rows, co_await find_labelled(std::move(labels)));
  std::vector<LabelledContainer> owned;
  for (const json::Value& row : rows)
    owned.push_back({text_at(&row, "Id"), text_at(find(&row, "Labels"), kLabelInstance)});
  co_return owned;
}

Task<std::vector<std::string>> EngineClient::list_volumes(std::vector<std::string> labels) {
  CO_TRY(const auto rows, co_await find_volumes(std::move(labels)));
  std::vector<std::string> ids;
  for (const json::Value& row : rows) ids.push_back(text_at(find(&row, "Labels"), kLabelSandbox));
  co_return ids;
}

Task<> EngineClient::remove_volumes(std::vector<std::string> labels) {
  const auto give_up = std::chrono::steady_clock::now() + kRemovePatience;
  for (;;) {
    CO_TRY(const auto rows, co_await find_volumes(labels));
    if (rows.empty()) co_return Result<>();
    for (const json::Value& row : rows) {
      std::string path = "/volumes/" + net::percent_encode(text_at(&row, "Name"));
      auto removed = co_await line_.ask(net::Method::delete_, std::move(path), {}, Pace::slow);
      // The container that has it is on its way out.
      const bool is_fine = removed || removed.error().code() == Code::not_found ||
                           removed.error().code() == Code::conflict;
      if (!is_fine) co_return std::move(removed).error();
    }
    if (std::chrono::steady_clock::now() > give_up)
      co_return Error(Code::unavailable,
                      std::string(line_.dialect().name) + " does not remove a sandbox's volumes");
    Event nothing(executor_);
    auto waited = co_await nothing.wait_for(kRemovePause);
    if (!waited && waited.error().code() == Code::cancelled) co_return std::move(waited).error();
  }
}

Task<json::Array> EngineClient::find_volumes(std::vector<std::string> labels) {
  std::string path = "/volumes?filters=" + net::percent_encode(label_filter(std::move(labels)));
  CO_TRY(auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::slow));
  const json::Value* rows = find(&told, "Volumes");
  if (rows == nullptr || !rows->is_array()) co_return json::Array();
  co_return rows->as_array();
}

Task<json::Array> EngineClient::find_labelled(std::vector<std::string> labels) {
  std::string path =
      "/containers/json?all=1&filters=" + net::percent_encode(label_filter(std::move(labels)));
  CO_TRY(auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::slow));
  if (!told.is_array()) co_return json::Array();
  co_return std::move(told.as_array());
}

Task<bool> EngineClient::lacked_memory(std::string name) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::string filters;
  json::Array names;
  names.emplace_back(std::move(name));
  json::write_value(filters, json::Object{{"type", json::Array{"container"}},
                                          {"container", std::move(names)},
                                          {"event", json::Array{"oom"}}});
  net::ClientRequest request;
  request.method = net::Method::get;
  // A moment longer: the kernel tells of the end and of its reason in no order.
  request.target = "/events?since=1&until=" + std::to_string(now.count() + 1) +
                   "&filters=" + net::percent_encode(filters);
  request.timeouts.first_byte = kEventsPatience;
  request.timeouts.total = kEventsPatience;
  CO_TRY(const auto call, co_await line_.open(std::move(request)));
  CO_TRY_OK(co_await call->receive());
  if (call->head().status != 200) co_return false;
  CO_TRY(const auto told, co_await call->read_all(kLargestAnswer));
  co_return has_word(told, R"("Action":"oom")");
}

Task<int64_t> EngineClient::wait(std::string name) {
  const auto waits = waits_;
  net::ClientRequest request;
  request.method = net::Method::post;
  request.target = container_path(name, "/wait?condition=not-running");
  request.timeouts.first_byte = kUnbounded;
  request.timeouts.total = std::nullopt;
  CO_TRY(const auto call, co_await line_.open(std::move(request)));
  if (waits->is_closed) co_return Error(Code::cancelled, "nobody waits any more");
  waits->calls.insert(call.get());
  net::Response answer;
  auto received = co_await call->receive();
  if (received) {
    answer.status = call->head().status;
    auto body = co_await call->read_all(kLargestAnswer);
    if (body) answer.body = std::move(*body);
    if (!body) received = std::move(body).error();
  }
  waits->calls.erase(call.get());
  if (!received) co_return std::move(received).error();
  if (answer.status >= 400) co_return line_.told_error(answer);
  auto parsed = json::parse(answer.body);
  if (!parsed) co_return Error(Code::unavailable, "the wait was broken off");
  co_return number_at(&*parsed, "StatusCode");
}

void EngineClient::close() {
  waits_->is_closed = true;
  for (net::ClientCall* call : waits_->calls) call->cancel();
}

}  // namespace atl::container
