#include "drivers/extension/extension_sandbox.h"

#include "base/bytes.h"
#include "native/agent_places.h"

namespace atl::extension {
namespace {

constexpr auto kGreetingPatience = std::chrono::seconds(20);
constexpr Micros kLongestUptime = std::chrono::hours(24 * 365 * 100);

struct Greeting {
  bool is_new = false;    // it waits for its configuration
  Micros clock_ahead{0};  // its Clock::boot(), less ours
};

// What an agent says first; see native/agent_places.h.
Task<Greeting> read_greeting(LineStream& stream, Reached reached) {
  std::string bytes(reached == Reached::calls ? 1 : native::kGreetingBytes, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    CO_TRY(const size_t got, co_await stream.read_some(bytes.data() + have, bytes.size() - have));
    if (got == 0) co_return Error(Code::unavailable, "the sandbox's agent is not reached");
    have += got;
  }
  if (bytes[0] != native::kCallNew && bytes[0] != native::kCallAgain)
    co_return Error(Code::unavailable, "what is reached is not the sandbox's agent")
        .with_hint("atoll extension check tells what the extension does wrong");
  Greeting greeting{.is_new = bytes[0] == native::kCallNew};
  if (reached == Reached::calls) co_return greeting;
  const Micros their_clock(ByteReader(std::string_view(bytes).substr(1)).i64());
  if (their_clock.count() < 0 || their_clock > kLongestUptime)
    co_return Error(Code::unavailable, "the sandbox's agent greets with nonsense");
  greeting.clock_ahead = their_clock - system_clock().boot();
  co_return greeting;
}

}  // namespace

uint64_t Fleet::birth_of(const std::string& id) const {
  const auto found = live.find(id);
  return found != live.end() ? found->second.birth : 0;
}

void Fleet::forget(const std::string& id) {
  live.erase(id);
  if (live.empty() && events != nullptr) events->close();
}

void Fleet::note_end(const std::string& id, uint64_t birth, std::optional<int64_t> exit_code) {
  const auto found = live.find(id);
  if (found == live.end() || found->second.birth != birth) return;
  const Micros due = found->second.due;
  forget(id);
  if (const auto guest = guests.find(id); guest != guests.end()) guest->second->close();
  const bool has_expired =
      exit_code == native::kAgentExpired || (due.count() > 0 && due <= system_clock().boot());
  if (tell) tell(id, has_expired ? EndedBy::expiry : EndedBy::death);
}

// The way to one agent.
struct ExtensionSandbox::Line {
  std::shared_ptr<Fleet> fleet;
  std::string id;
  std::optional<container::FirstWords> words;
  std::optional<Micros> clock_ahead;  // known once it was spoken to
};

ExtensionSandbox::ExtensionSandbox(std::shared_ptr<Fleet> fleet, std::string id,
                                   std::optional<container::FirstWords> words)
    : line_(
          std::make_shared<Line>(std::move(fleet), std::move(id), std::move(words), std::nullopt)),
      guest_(line_->fleet->executor, [line = line_] { return open_stream(line); }) {
  line_->fleet->guests[line_->id] = &guest_;
}

ExtensionSandbox::~ExtensionSandbox() {
  const auto found = line_->fleet->guests.find(line_->id);
  if (found != line_->fleet->guests.end() && found->second == &guest_)
    line_->fleet->guests.erase(found);
}

const std::string& ExtensionSandbox::id() const { return line_->id; }

bool ExtensionSandbox::is_running() const { return line_->fleet->live.contains(line_->id); }

Task<net::StreamPtr> ExtensionSandbox::open_stream(std::shared_ptr<Line> line) {
  const auto fleet = line->fleet;
  if (!fleet->live.contains(line->id))
    co_return Error(Code::unavailable, "sandbox " + line->id + " has ended");
  auto opened = co_await fleet->client.open(line->id);
  if (!opened) {
    // Of a sandbox that lives, to whoever uses it.
    if (opened.error().code() != Code::not_found) co_return std::move(opened).error();
    co_return Error(Code::unavailable, opened.error().message());
  }
  auto stream = std::move(opened->stream);
  stream->set_deadline(std::chrono::steady_clock::now() + kGreetingPatience);
  CO_TRY(const auto greeting, co_await read_greeting(*stream, opened->agent));
  line->clock_ahead = greeting.clock_ahead;
  const auto words = std::exchange(line->words, std::nullopt);
  if (!greeting.is_new) {
    if (opened->agent == Reached::answers) {
      const std::string token = fleet->identity.token_for(line->id);
      CO_TRY_OK(co_await stream->write_all(token));
    }
    stream->set_deadline(std::nullopt);
    co_return net::StreamPtr(std::move(stream));
  }
  if (!words) {
    co_return Error(Code::not_found, "sandbox " + line->id + " was not made completely")
        .with_hint("Atoll was interrupted while it made it: make it anew");
  }
  CO_TRY(const auto told, words->encoded(greeting.clock_ahead));
  CO_TRY_OK(co_await stream->write_all(told));
  stream->set_deadline(std::nullopt);
  co_return net::StreamPtr(std::move(stream));
}

Task<> ExtensionSandbox::pause() {
  if (!line_->fleet->can || line_->fleet->can->pause == Pause::none)
    co_return co_await Sandbox::pause();
  Call call;
  call.call = "pause";
  call.id = line_->id;
  const auto fleet = line_->fleet;
  co_return co_await fleet->client.change(std::move(call));
}

Task<> ExtensionSandbox::resume() {
  if (!line_->fleet->can || line_->fleet->can->pause == Pause::none)
    co_return co_await Sandbox::resume();
  Call call;
  call.call = "resume";
  call.id = line_->id;
  const auto fleet = line_->fleet;
  co_return co_await fleet->client.change(std::move(call));
}

Task<> ExtensionSandbox::resize(Resources resources) {
  if (!line_->fleet->can || !line_->fleet->can->resize)
    co_return co_await Sandbox::resize(resources);
  if (resources.cpu_weight || resources.sharing)
    co_return Error(Code::unsupported, "an extension shares out no processors by weight");
  Call call;
  call.call = "resize";
  call.id = line_->id;
  call.resources = to_asked(resources);
  const auto fleet = line_->fleet;
  co_return co_await fleet->client.change(std::move(call));
}

Task<> ExtensionSandbox::renew(Micros expires_at) {
  if (!line_->clock_ahead) CO_TRY_OK(co_await guest_.greet());
  const Micros theirs = container::on_clock(expires_at, line_->clock_ahead.value_or(Micros(0)));
  CO_TRY_OK(co_await guest_.renew(theirs));
  if (is_running()) line_->fleet->live[line_->id].due = expires_at;
  co_return Result<>();
}

Task<> ExtensionSandbox::destroy() {
  const auto line = line_;
  line->fleet->forget(line->id);
  auto destroyed = co_await line->fleet->client.destroy(line->id);
  guest_.close();
  co_return destroyed;
}

AskedResources to_asked(const Resources& resources) {
  return {.cpu = resources.cpu,
          .memory_mb = resources.memory_mb,
          .pids = resources.pids,
          .disk_mb = resources.disk_mb};
}

}  // namespace atl::extension
