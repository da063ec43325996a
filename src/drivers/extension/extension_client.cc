#include "drivers/extension/extension_client.h"

#include <cerrno>

#include "base/text.h"
#include "net/connect.h"

namespace atl::extension {
namespace {

using std::chrono::steady_clock;

constexpr Millis kHelloPatience{3'000};
constexpr Millis kListPatience{10'000};
constexpr Millis kChangePatience{30'000};
constexpr Millis kDestroyPatience{60'000};
// It waits for the agent to call.
constexpr Millis kOpenPatience{30'000};

Call call_of(std::string name) {
  Call call;
  call.call = std::move(name);
  call.protocol = kProtocol;
  return call;
}

Call call_about(std::string name, std::string id) {
  Call call = call_of(std::move(name));
  call.id = std::move(id);
  return call;
}

}  // namespace

Error ExtensionClient::told_by_it(Error error) const {
  return std::move(error).with("extension " + name());
}

Task<std::unique_ptr<LineStream>> ExtensionClient::connect(steady_clock::time_point until) {
  const std::string& path = grant_.manifest.socket;
  CO_TRY_OK(check_socket(path, grant_.uid));
  auto stream = co_await net::connect_unix(executor_, path, until);
  if (!stream) {
    // Which is what a sandbox is not found by.
    co_return Error(
        stream.error().code() == Code::not_found ? Code::unavailable : stream.error().code(),
        stream.error().message())
        .with_hint("is it running? start it again: its sandboxes are taken up");
  }
  // The file could have been exchanged since it was looked at.
  const auto peer = (*stream)->peer_credentials();
  if (!peer || peer->uid != grant_.uid) {
    co_return Error(Code::permission_denied,
                    "another user than " + std::to_string(grant_.uid) + " listens on " + path);
  }
  listener_ = *peer;
  (*stream)->set_deadline(until);
  co_return std::make_unique<LineStream>(*std::move(stream));
}

Task<std::string> ExtensionClient::say(std::string line, Millis patience) {
  CO_TRY(const auto stream, co_await connect(steady_clock::now() + patience));
  CO_TRY_OK(co_await stream->write_all(line));
  co_return co_await stream->read_line();
}

Task<std::string> ExtensionClient::ask(Call call, Millis patience) {
  std::string line = encode_line(call);
  if (line.size() > kLongestLine)
    co_return Error(Code::too_large, "what is to be told has more than 1 MiB");
  auto answer = co_await say(std::move(line), patience);
  if (!answer) co_return told_by_it(std::move(answer).error());
  co_return answer;
}

Task<Claim> ExtensionClient::hello() {
  Call call;
  call.call = "hello";
  call.protocols = {kProtocol};
  call.configuration = grant_.settings;
  CO_TRY(const auto line, co_await ask(std::move(call), kHelloPatience));
  auto hello = parse_hello(line);
  if (!hello) co_return told_by_it(std::move(hello).error());
  if (hello->protocol != kProtocol) {
    co_return told_by_it(Error(
        Code::unsupported, "it chose protocol " + std::to_string(hello->protocol) +
                               ", which was not offered; " + std::to_string(kProtocol) + " was"));
  }
  if (hello->name != name()) {
    co_return told_by_it(Error(Code::permission_denied,
                               "it calls itself " + to_printable(hello->name.substr(0, 64)) +
                                   ": another one listens there"));
  }
  auto both = meet(grant_.manifest.capabilities, hello->capabilities);
  if (!both) co_return told_by_it(std::move(both).error());
  co_return both;
}

Task<> ExtensionClient::create(Call call) {
  call.call = "create";
  call.protocol = kProtocol;
  call.configuration = grant_.settings;
  const auto patience =
      std::chrono::seconds(grant_.manifest.create_timeout_s.value_or(kUsualCreateTimeout));
  CO_TRY(const auto line, co_await ask(std::move(call), patience));
  auto done = parse_done(line);
  if (!done) co_return told_by_it(std::move(done).error());
  co_return Result<>();
}

Task<std::vector<ListedSandbox>> ExtensionClient::list() {
  CO_TRY(const auto line, co_await ask(call_of("list"), kListPatience));
  auto listed = parse_list(line);
  if (!listed) co_return told_by_it(std::move(listed).error());
  co_return std::move(listed->sandboxes);
}

Task<> ExtensionClient::destroy(std::string id) {
  CO_TRY(const auto line, co_await ask(call_about("destroy", std::move(id)), kDestroyPatience));
  auto done = parse_done(line);
  if (done || done.error().code() == Code::not_found) co_return Result<>();
  co_return told_by_it(std::move(done).error());
}

Task<> ExtensionClient::change(Call call) {
  call.protocol = kProtocol;
  CO_TRY(const auto line, co_await ask(std::move(call), kChangePatience));
  auto done = parse_done(line);
  if (!done) co_return told_by_it(std::move(done).error());
  co_return Result<>();
}

Task<ExtensionClient::Opened> ExtensionClient::open(std::string id) {
  auto stream = co_await connect(steady_clock::now() + kOpenPatience);
  if (!stream) co_return told_by_it(std::move(stream).error());
  const std::string line = encode_line(call_about("open", std::move(id)));
  auto sent = co_await (*stream)->write_all(line);
  if (!sent) co_return told_by_it(std::move(sent).error());
  auto answer = co_await (*stream)->read_line();
  if (!answer) co_return told_by_it(std::move(answer).error());
  auto opened = parse_open(*answer);
  if (!opened) co_return told_by_it(std::move(opened).error());
  co_return Opened{*std::move(stream), opened->agent};
}

Task<std::unique_ptr<LineStream>> ExtensionClient::events() {
  auto stream = co_await connect(steady_clock::now() + kListPatience);
  if (!stream) co_return told_by_it(std::move(stream).error());
  const std::string line = encode_line(call_of("events"));
  auto sent = co_await (*stream)->write_all(line);
  if (!sent) co_return told_by_it(std::move(sent).error());
  auto answer = co_await (*stream)->read_line();
  if (!answer) co_return told_by_it(std::move(answer).error());
  auto done = parse_done(*answer);
  if (!done) co_return told_by_it(std::move(done).error());
  // Nothing happens for as long as nothing ends.
  (*stream)->set_deadline(std::nullopt);
  co_return *std::move(stream);
}

}  // namespace atl::extension
