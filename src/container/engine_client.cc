#include "container/engine_client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "base/event.h"
#include "base/text.h"
#include "container/container_spec.h"
#include "json/write.h"

namespace atl::container {
namespace {

constexpr Millis kQuick{5'000};
constexpr Millis kSlow{60'000};
constexpr Millis kUnbounded = std::chrono::hours(24 * 365);
constexpr Millis kRemovePause{20};
constexpr size_t kLargestAnswer = 16 << 20;
constexpr size_t kMostVolumes = 64;
// The API is spoken in the newest version that both know, in these bounds.
constexpr int kOldestMinor = 41;
constexpr int kNewestMinor = 44;

const json::Value* find(const json::Value* value, std::string_view name) {
  const json::Object* object = value != nullptr ? value->if_object() : nullptr;
  return object != nullptr ? object->if_contains(name) : nullptr;
}

std::string text_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

bool flag_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_bool() && found->as_bool();
}

int64_t number_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_int64() ? found->as_int64() : 0;
}

bool has_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// "1.41" → 41; 0 for what is no version of the first generation.
int minor_of(std::string_view version) {
  if (!version.starts_with("1.")) return 0;
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, trouble] =
      std::from_chars(version.data(), version.data() + version.size(), minor);
  return trouble == std::errc() && end == version.data() + version.size() ? minor : 0;
}

// Where a tmpfs can be put: a plain absolute path.
bool is_plain_path(std::string_view path) {
  return path.size() > 1 && path.size() < 256 && path.starts_with('/') && !has_word(path, "..") &&
         path.find_first_of(std::string_view(":,\\\0", 4)) == std::string_view::npos;
}

std::string container_path(const std::string& name, std::string_view what) {
  return "/containers/" + net::percent_encode(name) + std::string(what);
}

}  // namespace

struct EngineClient::Waits {
  std::set<net::ClientCall*> calls;
  bool is_closed = false;
};

EngineClient::EngineClient(asio::any_io_executor executor, const Dialect& dialect,
                           std::string socket)
    : executor_(executor),
      dialect_(dialect),
      socket_(std::move(socket)),
      // One connection per sandbox waits for its end. None is kept: after a restart of the engine
      // it would only be in the way.
      http_(executor, {.idle_per_endpoint = 0, .connections_per_endpoint = 16'384}),
      waits_(std::make_shared<Waits>()) {
  endpoint_.kind = net::Endpoint::Kind::unix_socket;
  endpoint_.socket_path = socket_;
  endpoint_.host = "localhost";
}

Error EngineClient::transport_error(const Error& error, Pace pace) const {
  const std::string name(dialect_.name);
  const std::string restart =
      "look at it: " + name + " info; start it: " + std::string(dialect_.start);
  if (error.os_errno() == ENOENT || error.os_errno() == ENOTDIR) {
    return Error(Code::unavailable, name + " is not running: there is no " + socket_)
        .with_hint("start it: " + std::string(dialect_.start) +
                   "; or name its socket: " + std::string(dialect_.variable) + "=unix:///path");
  }
  if (error.os_errno() == EACCES || error.os_errno() == EPERM) {
    return Error(Code::unavailable, "this user may not use " + name + ": " + socket_)
        .with_hint("whoever may is as good as root; give it: usermod -aG " + name +
                   " USER, or use " + "an engine of this user's own");
  }
  if (error.os_errno() == ECONNREFUSED) {
    return Error(Code::unavailable, name + " has died: nobody listens on " + socket_)
        .with_hint(restart);
  }
  if (error.code() == Code::deadline_exceeded) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(pace == Pace::quick ? kQuick : kSlow);
    return Error(Code::unavailable,
                 name + " has not answered within " + std::to_string(seconds.count()) + " s")
        .with_hint("it hangs, or has too much to do; " + restart);
  }
  if (error.code() == Code::unavailable) {
    return Error(Code::unavailable, name + " broke off before its answer: " + error.message())
        .with_hint(
            "it was restarted or has died, and what is left over is removed when it is back; " +
            restart);
  }
  return Error(error).with(name);
}

Error EngineClient::told_error(const net::Response& response) const {
  const std::string name(dialect_.name);
  std::string message = "status " + std::to_string(response.status);
  if (auto parsed = json::parse(response.body)) {
    const std::string told = text_at(&*parsed, "message");
    if (!told.empty()) message = to_printable(told);
  }
  const std::string text = name + ": " + message;
  if (response.status == 404) return Error(Code::not_found, text);
  // Podman tells a taken name as a failure of its own.
  if (response.status == 409 || has_word(message, "already in use")) {
    return Error(has_word(message, "already in use") ? Code::already_exists : Code::conflict, text);
  }
  if (has_word(message, "bind source path does not exist")) {
    return Error(Code::unavailable, text)
        .with_hint(
            "the engine does not see this host's files: it must run on the same host, and "
            "not in a virtual machine");
  }
  if (has_word(message, "no space left")) {
    return Error(Code::out_of_space, text)
        .with_hint("the engine's disk is full: " + name + " system df shows what uses it");
  }
  if (response.status == 400) return Error(Code::invalid_argument, text);
  return Error(Code::internal, text).with_hint("the engine's own log tells more");
}

Task<net::Response> EngineClient::send(net::Method method, std::string path, std::string body,
                                       Pace pace) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(path);
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  request.timeouts.connect = kQuick;
  request.timeouts.first_byte = pace == Pace::quick ? kQuick : kSlow;
  request.timeouts.total = request.timeouts.first_byte;
  request.response_limit = kLargestAnswer;
  auto answer = co_await http_.send(endpoint_, std::move(request));
  if (!answer) {
    // It may come back as another version.
    version_.clear();
    co_return transport_error(answer.error(), pace);
  }
  co_return std::move(*answer);
}

Task<> EngineClient::greet() {
  CO_TRY(const auto answer, co_await send(net::Method::get, "/_ping", {}, Pace::quick));
  const std::string name(dialect_.name);
  if (answer.status != 200) co_return told_error(answer).with("greeting the engine");
  const std::string theirs(answer.headers.get("Api-Version"));
  const int minor = minor_of(theirs);
  if (minor < kOldestMinor) {
    co_return Error(Code::unsupported,
                    name + " speaks version " + to_printable(theirs) + " of the Engine API")
        .with_hint("1.41 is the oldest that will do, which Docker 20.10 and Podman 3.0 speak");
  }
  version_ = "/v1." + std::to_string(std::min(minor, kNewestMinor));
  co_return Result<>();
}

Task<net::Response> EngineClient::send_versioned(net::Method method, std::string path,
                                                 std::string body, Pace pace) {
  if (version_.empty()) CO_TRY_OK(co_await greet());
  std::string target = version_ + path;
  co_return co_await send(method, std::move(target), std::move(body), pace);
}

Task<json::Value> EngineClient::ask(net::Method method, std::string path, std::string body,
                                    Pace pace) {
  CO_TRY(const auto answer,
         co_await send_versioned(method, std::move(path), std::move(body), pace));
  // 304: it is so already.
  if (answer.status >= 400) co_return told_error(answer);
  if (answer.body.empty()) co_return json::Value();
  auto parsed = json::parse(answer.body, {.max_bytes = kLargestAnswer});
  if (!parsed) {
    co_return Error(Code::internal,
                    std::string(dialect_.name) + " answers nonsense: " + parsed.error().message());
  }
  co_return std::move(*parsed);
}

Task<std::vector<std::string>> EngineClient::image_volumes(std::string image) {
  // The name goes into a path in which its slashes are slashes.
  std::string path = "/images/";
  for (const auto& part : split(image, '/')) path += net::percent_encode(part) + "/";
  path += "json";
  CO_TRY(const auto told, co_await ask(net::Method::get, std::move(path), {}, Pace::quick));
  std::vector<std::string> volumes;
  const json::Value* declared = find(find(&told, "Config"), "Volumes");
  if (declared == nullptr || !declared->is_object()) co_return volumes;
  for (const auto& volume : declared->as_object()) {
    const std::string_view name = volume.key();
    if (!is_plain_path(name) || volumes.size() >= kMostVolumes) {
      co_return Error(Code::unsupported,
                      "image " + image + " declares volumes that cannot be limited")
          .with_hint("take another image");
    }
    volumes.emplace_back(name);
  }
  co_return volumes;
}

Task<> EngineClient::create(std::string name, std::string body) {
  std::string path = "/containers/create?name=" + net::percent_encode(name);
  CO_TRY_OK(co_await ask(net::Method::post, std::move(path), std::move(body), Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::start(std::string name) {
  std::string path = container_path(name, "/start");
  CO_TRY_OK(co_await ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<ContainerState> EngineClient::inspect(std::string name) {
  std::string path = container_path(name, "/json");
  CO_TRY(const auto told, co_await ask(net::Method::get, std::move(path), {}, Pace::quick));
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
  found.instance = text_at(labels, kLabelInstance);
  found.driver = text_at(labels, kLabelDriver);
  found.sandbox_id = text_at(labels, kLabelSandbox);
  found.generation = text_at(labels, kLabelGeneration);
  co_return found;
}

Task<> EngineClient::pause(std::string name) {
  std::string path = container_path(name, "/pause");
  CO_TRY_OK(co_await ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::resume(std::string name) {
  std::string path = container_path(name, "/unpause");
  CO_TRY_OK(co_await ask(net::Method::post, std::move(path), {}, Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::update(std::string name, std::string body) {
  std::string path = container_path(name, "/update");
  CO_TRY_OK(co_await ask(net::Method::post, std::move(path), std::move(body), Pace::slow));
  co_return Result<>();
}

Task<> EngineClient::remove(std::string name) {
  const auto give_up = std::chrono::steady_clock::now() + kSlow;
  for (;;) {
    std::string path = container_path(name, "?force=1&v=1");
    auto removed = co_await ask(net::Method::delete_, std::move(path), {}, Pace::slow);
    if (!removed && removed.error().code() == Code::not_found) co_return Result<>();
    const bool is_under_way = !removed && removed.error().code() == Code::conflict;
    if (!removed && !is_under_way) co_return std::move(removed).error();
    // Somebody removes it already, maybe the engine itself: gone is only what is not found.
    if (removed) {
      auto found = co_await inspect(name);
      if (!found && found.error().code() == Code::not_found) co_return Result<>();
    }
    if (std::chrono::steady_clock::now() > give_up) {
      co_return Error(Code::unavailable, std::string(dialect_.name) + " does not remove " + name)
          .with_hint("remove it by hand: " + std::string(dialect_.name) + " rm --force " + name);
    }
    Event nothing(executor_);
    auto waited = co_await nothing.wait_for(kRemovePause);
    if (!waited && waited.error().code() == Code::cancelled) co_return std::move(waited).error();
  }
}

Task<std::vector<std::string>> EngineClient::list(std::vector<std::string> labels) {
  json::Array wanted;
  for (auto& label : labels) wanted.emplace_back(std::move(label));
  std::string filters;
  json::write_value(filters, json::Object{{"label", std::move(wanted)}});
  std::string path = "/containers/json?all=1&filters=" + net::percent_encode(filters);
  CO_TRY(const auto told, co_await ask(net::Method::get, std::move(path), {}, Pace::slow));
  std::vector<std::string> ids;
  if (!told.is_array()) co_return ids;
  for (const json::Value& row : told.as_array())
    ids.push_back(text_at(find(&row, "Labels"), kLabelSandbox));
  co_return ids;
}

Task<int64_t> EngineClient::wait(std::string name) {
  const auto waits = waits_;
  if (version_.empty()) CO_TRY_OK(co_await greet());
  net::ClientRequest request;
  request.method = net::Method::post;
  request.target = version_ + container_path(name, "/wait?condition=not-running");
  request.timeouts.connect = kQuick;
  request.timeouts.first_byte = kUnbounded;
  request.timeouts.total = std::nullopt;
  CO_TRY(const auto call, co_await http_.open(endpoint_, std::move(request)));
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
  if (answer.status >= 400) co_return told_error(answer);
  auto parsed = json::parse(answer.body);
  if (!parsed) co_return Error(Code::unavailable, "the wait was broken off");
  co_return number_at(&*parsed, "StatusCode");
}

void EngineClient::close() {
  waits_->is_closed = true;
  for (net::ClientCall* call : waits_->calls) call->cancel();
}

}  // namespace atl::container
