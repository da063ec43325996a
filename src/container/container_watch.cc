#include "container/container_watch.h"

#include "container/container_spec.h"
#include "native/agent_places.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

constexpr Millis kLookAgain{500};

}  // namespace

Task<> watch(std::shared_ptr<Fleet> fleet, std::string id, uint64_t birth) {
  const std::string container = container_name(id);
  int64_t exit_code = 0;
  while (fleet->live.contains(id) && !fleet->closing.fired()) {
    auto ended = co_await fleet->client.wait(container);
    if (ended) exit_code = *ended;
    if (ended || ended.error().code() == Code::not_found) break;
    // The engine has died or been restarted. What became of the container is known when it is back.
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) break;
  }
  const auto found = fleet->live.find(id);
  if (fleet->closing.fired() || found == fleet->live.end()) co_return Result<>();
  // Its name is another's by now.
  if (fleet->births[id] != birth) co_return Result<>();
  fleet->births.erase(id);
  const Micros due = found->second;
  fleet->live.erase(found);
  if (const auto guest = fleet->guests.find(id); guest != fleet->guests.end())
    guest->second->close();
  const bool has_expired =
      exit_code == native::kAgentExpired || (due.count() > 0 && due <= system_clock().boot());
  auto removed = co_await remove_container(fleet, id);
  if (!removed) {
    telemetry::log_warn("a container that has ended is not removed yet",
                        {{"sandbox", id}, {"why", removed.error().message()}});
  }
  if (fleet->tell) fleet->tell(id, has_expired ? EndedBy::expiry : EndedBy::death);
  co_return Result<>();
}

Task<> remove_later(std::shared_ptr<Fleet> fleet, std::string id) {
  for (;;) {
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) co_return Result<>();
    auto removed = co_await remove_container(fleet, id);
    if (removed) co_return Result<>();
  }
}

}  // namespace atl::container
