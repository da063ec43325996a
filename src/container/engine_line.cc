#include "container/engine_line.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "container/json_at_internal.h"

namespace atl::container {
namespace {

// The oldest that has what is asked of it.
constexpr std::string_view kLibpod = "/v4.0.0/libpod";
constexpr size_t kLargestAnswer = 16 << 20;
constexpr size_t kLargestLine = 1 << 20;
// The API is spoken in the newest version that both know, in these bounds.
constexpr int kOldestMinor = 41;
constexpr int kNewestMinor = 44;

// "1.41" → 41; 0 for what is no version of the first generation.
int minor_of(std::string_view version) {
  if (!version.starts_with("1.")) return 0;
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, trouble] =
      std::from_chars(version.data(), version.data() + version.size(), minor);
  return trouble == std::errc() && end == version.data() + version.size() ? minor : 0;
}

// "client version 1.44 is too old. Minimum supported API version is 1.46", or too new.
bool is_about_version(const net::Response& answer) {
  return answer.status == 400 && has_word(answer.body, "client version");
}

bool is_socket(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

}  // namespace

EngineLine::EngineLine(const asio::any_io_executor& executor, const Dialect& dialect,
                       EngineAddress address, Paces paces)
    : dialect_(dialect),
      address_(std::move(address)),
      paces_(paces),
      // One connection per sandbox waits for its end. None is kept: after a restart of the engine
      // it would only be in the way.
      http_(executor,
            {.idle_per_endpoint = 0, .connections_per_endpoint = 16'384, .tls = address_.tls}) {}

Millis EngineLine::patience(Pace pace) const {
  if (pace == Pace::quick) return paces_.quick;
  return pace == Pace::slow ? paces_.slow : paces_.patient;
}

Error EngineLine::full_disk(const std::string& told) const {
  const std::string name(dialect_.name);
  return Error(Code::out_of_space, name + ": " + told)
      .with_hint("the engine's disk is full: " + name + " system df shows what uses it");
}

Error EngineLine::transport_error(const Error& error, Pace pace) const {
  const std::string name(dialect_.name);
  const std::string restart =
      "look at it: " + name + " info; start it: " + std::string(dialect_.start);
  if (!address_.is_local() && error.os_errno() != ECONNREFUSED &&
      error.code() != Code::deadline_exceeded) {
    return Error(Code::unavailable, name + " at " + address_.text + ": " + error.message())
        .with_hint(
            "is the address right, and do the certificates of DOCKER_CERT_PATH belong to "
            "this engine?");
  }
  if (error.os_errno() == ENOENT || error.os_errno() == ENOTDIR) {
    return Error(Code::unavailable, name + " is not running: there is no " + address_.text)
        .with_hint("start it: " + std::string(dialect_.start) +
                   "; or name its socket: " + std::string(dialect_.variable) + "=unix:///path");
  }
  if (error.os_errno() == EACCES || error.os_errno() == EPERM) {
    // Where no group has the socket, it is its owner's alone.
    const std::string given =
        dialect_.shows_socket ? "; give it: usermod -aG " + name + " USER, or use" : "; use";
    return Error(Code::unavailable, "this user may not use " + name + ": " + address_.text)
        .with_hint("whoever may is as good as root" + given +
                   " an engine of this user's own: systemctl --user start " +
                   std::string(dialect_.own_unit));
  }
  if (error.os_errno() == ECONNREFUSED && address_.is_local() && !is_socket(address_.text)) {
    return Error(Code::unavailable, name + " is not there: " + address_.text + " is no socket")
        .with_hint("name the engine's: " + std::string(dialect_.variable) + "=unix:///path");
  }
  if (error.os_errno() == ECONNREFUSED) {
    return Error(Code::unavailable, name + " has died: nobody listens on " + address_.text)
        .with_hint(restart);
  }
  if (error.code() == Code::deadline_exceeded) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience(pace));
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

Error EngineLine::told_error(const net::Response& response) const {
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
  if (has_word(message, "--storage-opt is supported only") ||
      has_word(message, "--storage-opt is not supported") || has_word(message, "storage-opts")) {
    return Error(Code::unsupported, text)
        .with_hint(
            "its storage has no quotas: leave out the disk limit, or put the engine's "
            "data on xfs mounted with pquota, on btrfs or on zfs");
  }
  if (has_word(message, "no space left")) return full_disk(message);
  if (is_about_version(response)) {
    return Error(Code::unsupported, text)
        .with_hint("it does not speak the version of the Engine API that it said it spoke");
  }
  if (response.status == 400 && has_word(response.body, "HTTP request to an HTTPS server")) {
    return Error(Code::unavailable, name + " at " + address_.text + " speaks TLS alone")
        .with_hint("set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to this client's certificates");
  }
  if (response.status == 400) return Error(Code::invalid_argument, text);
  // Of the engine, or of what stands before it: it is not there for a while.
  if (response.status >= 502 && response.status <= 504) {
    return Error(Code::unavailable, text).with_hint("the engine's own log tells more");
  }
  return Error(Code::internal, text).with_hint("the engine's own log tells more");
}

Task<net::Response> EngineLine::send(net::Method method, std::string path, std::string body,
                                     Pace pace) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(path);
  // Only archives are put. An engine that is told nothing takes them for a form, and drops them.
  const bool is_archive = method == net::Method::put;
  if (!body.empty())
    request.headers.add("Content-Type", is_archive ? "application/x-tar" : "application/json");
  request.body = std::move(body);
  request.timeouts.connect = paces_.quick;
  request.timeouts.first_byte = patience(pace);
  request.timeouts.total = request.timeouts.first_byte;
  request.response_limit = kLargestAnswer;
  auto answer = co_await http_.send(address_.endpoint, std::move(request));
  if (!answer) {
    // It may come back as another version.
    version_.clear();
    co_return transport_error(answer.error(), pace);
  }
  co_return std::move(*answer);
}

Task<> EngineLine::greet() {
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
  if (minor > kNewestMinor) CO_TRY_OK(co_await check_still_speaks_ours(theirs));
  version_ = "/v1." + std::to_string(std::min(minor, kNewestMinor));
  co_return Result<>();
}

// What is newer than we know may have left behind what we speak.
Task<> EngineLine::check_still_speaks_ours(std::string newest) {
  CO_TRY(const auto answer, co_await send(net::Method::get, "/version", {}, Pace::quick));
  const std::string name(dialect_.name);
  if (answer.status != 200) co_return told_error(answer).with("asking for its version");
  const auto told = json::parse(answer.body);
  const std::string oldest = told ? text_at(&*told, "MinAPIVersion") : std::string();
  if (minor_of(oldest) <= kNewestMinor) co_return Result<>();
  const std::string ours = "1." + std::to_string(kNewestMinor);
  co_return Error(Code::unsupported, name + " speaks versions " + to_printable(oldest) + " to " +
                                         to_printable(newest) +
                                         " of the Engine API, and this Atoll none after " + ours)
      .with_hint("take a newer Atoll, or let the engine speak ours, too: start it with " +
                 std::string("DOCKER_MIN_API_VERSION=") + ours);
}

Task<net::Response> EngineLine::send_versioned(net::Method method, std::string path,
                                               std::string body, Pace pace, Api api) {
  const bool was_greeted = !version_.empty();
  if (!was_greeted) CO_TRY_OK(co_await greet());
  std::string target = (api == Api::libpod ? std::string(kLibpod) : version_) + path;
  CO_TRY(auto answer, co_await send(method, std::move(target), body, pace));
  if (!was_greeted || api == Api::libpod || !is_about_version(answer)) co_return answer;
  // It is another by now, and has done nothing of what was asked.
  CO_TRY_OK(co_await greet());
  target = version_ + path;
  co_return co_await send(method, std::move(target), std::move(body), pace);
}

Task<json::Value> EngineLine::ask(net::Method method, std::string path, std::string body, Pace pace,
                                  Api api) {
  CO_TRY(const auto answer,
         co_await send_versioned(method, std::move(path), std::move(body), pace, api));
  // It is so already. Elsewhere we are sent by nobody.
  const bool is_so = answer.status == 304;
  if (answer.status >= 300 && !is_so) co_return told_error(answer);
  if (answer.body.empty()) co_return json::Value();
  auto parsed = json::parse(answer.body, {.max_bytes = kLargestAnswer});
  if (!parsed) {
    co_return Error(Code::internal,
                    std::string(dialect_.name) + " answers nonsense: " + parsed.error().message());
  }
  co_return std::move(*parsed);
}

Task<std::unique_ptr<net::ClientCall>> EngineLine::open(net::ClientRequest request,
                                                        net::RequestBody body, Api api) {
  if (version_.empty()) CO_TRY_OK(co_await greet());
  request.target = (api == Api::libpod ? std::string(kLibpod) : version_) + request.target;
  request.timeouts.connect = paces_.quick;
  co_return co_await http_.open(address_.endpoint, std::move(request), body);
}

Task<> EngineLine::follow(Followed followed) {
  const auto give_up = followed.give_up;
  auto ended = co_await follow_to_end(std::move(followed));
  // Whatever it is that broke off, that is why.
  if (!ended && is_given_up(give_up)) co_return Error(Code::cancelled, "nobody wants it any more");
  co_return ended;
}

Task<> EngineLine::follow_to_end(Followed followed) {
  net::ClientRequest request;
  request.method = net::Method::post;
  request.target = std::move(followed.path);
  request.headers = std::move(followed.headers);
  request.timeouts.first_byte = followed.silence;
  request.timeouts.silence = followed.silence;
  request.timeouts.total = followed.total;
  net::RequestBody framing;
  if (followed.next_piece) framing.kind = net::RequestBody::Kind::chunked;
  CO_TRY(const auto call, co_await open(std::move(request), framing, followed.api));
  const GiveUp::Listening listening(followed.give_up, [&call] { call->cancel(); });
  while (followed.next_piece) {
    CO_TRY(const std::string piece, co_await followed.next_piece());
    if (piece.empty()) break;
    // It may have answered already that it does not want it.
    auto written = co_await call->write(piece);
    if (!written && written.error().code() == Code::deadline_exceeded)
      co_return std::move(written).error();
    if (!written) break;
  }
  if (followed.next_piece) (void)co_await call->finish();
  CO_TRY_OK(co_await call->receive());
  if (call->head().status >= 400) {
    net::Response answer;
    answer.status = call->head().status;
    CO_TRY(answer.body, co_await call->read_all(kLargestLine));
    co_return told_error(answer);
  }
  std::string held;
  std::string piece(64 * 1024, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(piece.data(), piece.size()));
    held.append(piece.data(), got);
    for (size_t end = held.find('\n'); end != std::string::npos || got == 0;
         end = held.find('\n')) {
      const std::string line = held.substr(0, end);
      held.erase(0, end == std::string::npos ? end : end + 1);
      auto said = json::parse(line);
      const std::string trouble = said ? text_at(&*said, "error") : std::string();
      if (has_word(trouble, "no space left")) co_return full_disk(to_printable(trouble));
      if (!trouble.empty()) co_return Error(Code::internal, to_printable(trouble));
      if (said && followed.on_line) followed.on_line(*said);
      if (end == std::string::npos) co_return Result<>();
    }
    if (held.size() > kLargestLine)
      co_return Error(Code::internal, std::string(dialect_.name) + " answers nonsense");
  }
}

}  // namespace atl::container
