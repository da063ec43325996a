#include "container/agent_relay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "container/container_spec.h"
#include "native/agent_places.h"
#include "os/file.h"

namespace atl::container {
namespace {

constexpr const char* kTokenFile = "token";
constexpr auto kPatience = std::chrono::seconds(20);
constexpr Micros kLongestUptime = std::chrono::hours(24 * 365 * 100);

Task<std::string> read_greeting(FrameStream& stream) {
  std::string greeting(native::kGreetingBytes, '\0');
  size_t have = 0;
  while (have < greeting.size()) {
    CO_TRY(const size_t got,
           co_await stream.read_some(greeting.data() + have, greeting.size() - have));
    if (got == 0) {
      const std::string complaint = stream.complaint();
      co_return Error(Code::unavailable, "the sandbox's agent is not reached" +
                                             (complaint.empty() ? "" : ": " + complaint));
    }
    have += got;
  }
  co_return greeting;
}

// To the disk: it must be there as long as the container, which may be on another machine.
Result<> keep_token(int directory, const std::string& token) {
  TRY(const auto file,
      os::open_at(directory, kTokenFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  TRY_OK(os::write_all(file.get(), token));
  if (fsync(file.get()) != 0 || fsync(directory) != 0) return os_error("keeping the token");
  return {};
}

}  // namespace

Result<std::unique_ptr<AgentRelay>> AgentRelay::make(EngineClient& client,
                                                     const std::string& parent,
                                                     const std::string& name) {
  TRY(const auto above, os::open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY));
  if (mkdirat(above.get(), name.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Error(Code::already_exists, "sandbox " + name + " exists already");
    return os_error("making the sandbox's directory in", parent);
  }
  std::array<uint8_t, native::kTokenBytes> random;
  fill_random(random);
  const std::string token(reinterpret_cast<const char*>(random.data()), random.size());
  auto kept = [&]() -> Result<> {
    TRY(const auto directory, os::open_at(above.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    return keep_token(directory.get(), token);
  }();
  if (!kept) {
    (void)os::remove_tree(above.get(), name);  // the next sweep would find it
    return std::move(kept).error();
  }
  return std::unique_ptr<AgentRelay>(new AgentRelay(client, container_name(name), token));
}

Result<std::unique_ptr<AgentRelay>> AgentRelay::take_up(EngineClient& client,
                                                        const std::string& parent,
                                                        const std::string& name) {
  auto token = os::read_file(AT_FDCWD, parent + "/" + name + "/" + kTokenFile, native::kTokenBytes);
  if (!token || token->size() != native::kTokenBytes) {
    return Error(Code::not_found, "the token of sandbox " + name + " is gone")
        .with_hint("its container cannot be spoken to any more: make it anew");
  }
  return std::unique_ptr<AgentRelay>(
      new AgentRelay(client, container_name(name), *std::move(token)));
}

Task<AgentCall> AgentRelay::await_call() {
  if (is_closed_) co_return Error(Code::cancelled, "the sandbox has ended");
  auto started =
      co_await client_.start_inside(container_, {std::string(kAgentInside), native::kRelayWord});
  // It is paused, or has ended.
  if (!started && started.error().code() == Code::conflict)
    co_return Error(Code::unavailable, started.error().message());
  if (!started) co_return std::move(started).error();
  auto stream = *std::move(started);
  stream->set_deadline(std::chrono::steady_clock::now() + kPatience);
  CO_TRY(const std::string greeting, co_await read_greeting(*stream));
  ByteReader words(greeting);
  AgentCall call;
  call.is_new = static_cast<char>(words.u8()) == native::kCallNew;
  const Micros their_clock(words.i64());
  if (their_clock.count() < 0 || their_clock > kLongestUptime)
    co_return Error(Code::internal, "the sandbox's agent greets with nonsense");
  call.clock_ahead = their_clock - system_clock().boot();
  if (!call.is_new) CO_TRY_OK(co_await stream->write_all(token_));
  if (is_closed_) co_return Error(Code::cancelled, "the sandbox has ended");
  stream->set_deadline(std::nullopt);
  call.stream = std::move(stream);
  co_return call;
}

}  // namespace atl::container
