#include "container/container_sandbox.h"

#include "container/container_spec.h"
#include "native/plan.h"

namespace atl::container {

// The way to one agent.
struct ContainerSandbox::Line {
  std::shared_ptr<Fleet> fleet;
  std::string id;
  std::unique_ptr<AgentDoor> door;
  pid_t agent = 0;
  std::string first_words;
};

ContainerSandbox::ContainerSandbox(std::shared_ptr<Fleet> fleet, std::string id,
                                   std::unique_ptr<AgentDoor> door, pid_t agent,
                                   std::string first_words)
    : line_(std::make_shared<Line>(std::move(fleet), std::move(id), std::move(door), agent,
                                   std::move(first_words))),
      guest_(line_->fleet->executor, [line = line_] { return open_stream(line); }) {}

ContainerSandbox::~ContainerSandbox() { line_->door->close(); }

const std::string& ContainerSandbox::id() const { return line_->id; }

bool ContainerSandbox::is_running() const { return line_->fleet->live.contains(line_->id); }

Task<net::StreamPtr> ContainerSandbox::open_stream(std::shared_ptr<Line> line) {
  if (!line->fleet->live.contains(line->id))
    co_return Error(Code::unavailable, "sandbox " + line->id + " has ended");
  CO_TRY(auto call, co_await line->door->await_call(line->agent));
  const std::string words = std::exchange(line->first_words, {});
  if (call.is_new && words.empty()) {
    co_return Error(Code::not_found, "sandbox " + line->id + " was not made completely")
        .with_hint("Atoll was interrupted while it made it: make it anew");
  }
  if (call.is_new) CO_TRY_OK(co_await call.stream->write_all(words));
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
  const auto least = static_cast<int64_t>(native::kSmallestMemory >> 20);
  if (resources.memory_mb.value_or(least) < least)
    co_return Error(Code::invalid_argument, "a sandbox needs at least 8 MiB of memory");
  co_return co_await line_->fleet->client.update(container_name(line_->id),
                                                 to_update_json(resources));
}

Task<> ContainerSandbox::renew(Micros expires_at) {
  CO_TRY_OK(co_await guest_.renew(expires_at));
  if (is_running()) line_->fleet->live[line_->id] = expires_at;
  co_return Result<>();
}

Task<> ContainerSandbox::destroy() {
  const auto line = line_;
  line->fleet->live.erase(line->id);
  auto removed = co_await remove_container(line->fleet, line->id);
  line->door->close();
  guest_.close();
  co_return removed;
}

Task<> remove_container(std::shared_ptr<Fleet> fleet, std::string id) {
  CO_TRY_OK(co_await fleet->client.remove(container_name(id)));
  co_return AgentDoor::remove(fleet->directory, id);
}

}  // namespace atl::container
