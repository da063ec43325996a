#include "container/container_sandbox.h"

#include <unistd.h>

#include <algorithm>

#include "container/agent_door.h"
#include "container/container_spec.h"
#include "native/plan.h"
#include "os/file.h"

namespace atl::container {
namespace {

constexpr size_t kLargestAgent = 64 << 20;
constexpr size_t kLongestReason = 200;

}  // namespace

Task<> Fleet::copy_agent(std::string container) {
  if (!agent_on_engine().empty()) co_return Result<>();
  CO_TRY(const auto program, os::read_file(AT_FDCWD, agent, kLargestAgent));
  auto put = co_await client.put_archive(std::move(container), std::string(kOursInside),
                                         agent_archive(program));
  if (!put) co_return std::move(put).error().with("copying the agent");
  co_return Result<>();
}

uint64_t Fleet::processors() const {
  if (!client.line().address().is_local()) return 0;
  return static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

// The way to one agent.
struct ContainerSandbox::Line {
  std::shared_ptr<Fleet> fleet;
  std::string id;
  std::unique_ptr<AgentWay> way;
  std::optional<FirstWords> words;
  std::optional<Micros> clock_ahead;  // known once it was spoken to
  bool has_own_clock;                 // which its way does not tell
  std::shared_ptr<Event> resting;     // null = it is not
};

ContainerSandbox::ContainerSandbox(std::shared_ptr<Fleet> fleet, std::string id,
                                   std::unique_ptr<AgentWay> way, std::optional<FirstWords> words,
                                   OwnClock own_clock)
    : line_(std::make_shared<Line>(std::move(fleet), std::move(id), std::move(way),
                                   std::move(words), std::nullopt, own_clock == OwnClock::yes,
                                   nullptr)),
      guest_(line_->fleet->executor, [line = line_] { return open_stream(line); }) {
  line_->fleet->guests[line_->id] = &guest_;
}

ContainerSandbox::~ContainerSandbox() {
  const auto found = line_->fleet->guests.find(line_->id);
  if (found != line_->fleet->guests.end() && found->second == &guest_)
    line_->fleet->guests.erase(found);
  wake();
  line_->way->close();
}

const std::string& ContainerSandbox::id() const { return line_->id; }

bool ContainerSandbox::is_running() const { return line_->fleet->live.contains(line_->id); }

Task<net::StreamPtr> ContainerSandbox::open_stream(std::shared_ptr<Line> line) {
  if (!line->fleet->live.contains(line->id))
    co_return Error(Code::unavailable, "sandbox " + line->id + " has ended");
  // Whoever called now would be kept with the rest.
  while (const auto resting = line->resting) CO_TRY_OK(co_await resting->wait());
  CO_TRY(auto call, co_await line->way->await_call());
  if (!line->has_own_clock) line->clock_ahead = call.clock_ahead;
  const auto words = std::exchange(line->words, std::nullopt);
  if (!call.is_new) co_return std::move(call.stream);
  if (!words) {
    co_return Error(Code::not_found, "sandbox " + line->id + " was not made completely")
        .with_hint("Atoll was interrupted while it made it: make it anew");
  }
  CO_TRY(const auto told, words->encoded(call.clock_ahead));
  CO_TRY_OK(co_await call.stream->write_all(told));
  co_return std::move(call.stream);
}

Task<> ContainerSandbox::pause() {
  co_return co_await line_->fleet->client.pause(container_name(line_->id));
}

Task<> ContainerSandbox::resume() {
  const std::string name = container_name(line_->id);
  CO_TRY(const auto state, co_await line_->fleet->client.inspect(name));
  if (state.is_running && !state.is_paused) co_return Result<>();
  co_return co_await line_->fleet->client.resume(name);
}

Task<> ContainerSandbox::resize(Resources resources) {
  if (!line_->fleet->dialect.can_update) co_return co_await Sandbox::resize(resources);
  if (resources.disk_mb)
    co_return Error(Code::unsupported, "the disk of a running sandbox cannot be resized");
  if (resources.sharing == Sharing::dedicated)
    co_return Error(Code::unsupported, "a container engine does not give processors to one alone");
  CO_TRY_OK(check_least(resources));
  const auto fleet = line_->fleet;
  const std::string name = container_name(line_->id);
  CO_TRY(const auto state, co_await fleet->client.inspect(name));
  if (state.kernel != kSentry)
    co_return co_await fleet->client.update(name, to_update_json(resources, fleet->processors()));
  CO_TRY_OK(check_sentry(resources));
  auto changed =
      co_await fleet->client.update(name, to_sentry_update_json(resources, fleet->processors()));
  // The engine asks the runtime, and older ones know no such command.
  if (changed || changed.error().code() != Code::internal) co_return changed;
  co_return Error(Code::unsupported, "this gVisor does not change the limits of what runs: " +
                                         changed.error().message().substr(0, kLongestReason))
      .with_hint("make a new sandbox with other limits, or take a newer runsc");
}

Task<> ContainerSandbox::renew(Micros expires_at) {
  if (!line_->clock_ahead) CO_TRY_OK(co_await guest_.greet());
  if (!line_->clock_ahead) {
    CO_TRY(const Micros ahead, co_await guest_.clock_ahead());
    line_->clock_ahead = ahead;
  }
  const Micros their_moment = on_clock(expires_at, line_->clock_ahead.value_or(Micros(0)));
  CO_TRY_OK(co_await guest_.renew(their_moment));
  if (is_running()) line_->fleet->live[line_->id] = expires_at;
  co_return Result<>();
}

Task<> ContainerSandbox::rest() {
  line_->resting = std::make_shared<Event>(line_->fleet->executor);
  auto rested = co_await guest_.rest();
  if (!rested) wake();
  co_return rested;
}

void ContainerSandbox::wake() {
  if (const auto resting = std::exchange(line_->resting, nullptr)) resting->fire();
}

Task<> ContainerSandbox::become(std::string words, Micros expires_at) {
  CO_TRY_OK(co_await guest_.become(std::move(words)));
  co_return co_await renew(expires_at);
}

Task<> ContainerSandbox::destroy() {
  const auto line = line_;
  wake();
  line->fleet->live.erase(line->id);
  auto removed = co_await remove_container(line->fleet, line->id);
  line->way->close();
  guest_.close();
  co_return removed;
}

Task<> remove_container(std::shared_ptr<Fleet> fleet, std::string id) {
  CO_TRY_OK(co_await fleet->client.remove(container_name(id)));
  if (fleet->agent_on_engine().empty()) {
    std::vector<std::string> labels{std::string(kLabelInstance) + "=" + fleet->instance,
                                    std::string(kLabelSandbox) + "=" + id};
    CO_TRY_OK(co_await fleet->client.remove_volumes(std::move(labels)));
  }
  co_return AgentDoor::remove(fleet->directory, id);
}

}  // namespace atl::container
