#include "container/container_watch.h"

#include "container/container_spec.h"
#include "native/agent_places.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

constexpr Millis kLookAgain{500};
constexpr int64_t kKilled = 137;

// Waits until it has ended; what became of it while the engine was away is known when that is back.
struct Ending {
  int64_t exit_code = 0;
  bool is_with_engine = false;  // it has ended because the engine has
};

Task<Ending> await_end(std::shared_ptr<Fleet> fleet, std::string id) {
  const std::string container = container_name(id);
  Ending ending;
  while (fleet->live.contains(id) && !fleet->closing.fired()) {
    auto ended = co_await fleet->client.wait(container);
    if (ended) ending.exit_code = *ended;
    if (ended || ended.error().code() == Code::not_found) break;
    ending.is_with_engine = true;
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) break;
    auto state = co_await fleet->client.inspect(container);
    // It has outlived the engine.
    if (state && state->is_running) ending.is_with_engine = false;
  }
  co_return ending;
}

Task<EndedBy> find_reason(std::shared_ptr<Fleet> fleet, std::string id, Ending ending) {
  if (ending.is_with_engine) co_return EndedBy::engine;
  // An engine that stops hears nobody any more, and ends its containers then.
  auto state = co_await fleet->client.inspect(container_name(id));
  if (!state && state.error().code() == Code::unavailable) co_return EndedBy::engine;
  if (ending.exit_code != kKilled) co_return EndedBy::death;
  if (state && state->lacked_memory) co_return EndedBy::memory;
  auto lacked = co_await fleet->client.lacked_memory(container_name(id));
  co_return lacked && *lacked ? EndedBy::memory : EndedBy::death;
}

}  // namespace

Task<> watch_container(std::shared_ptr<Fleet> fleet, std::string id, uint64_t birth) {
  CO_TRY(const auto ending, co_await await_end(fleet, id));
  const auto found = fleet->live.find(id);
  if (fleet->closing.fired() || found == fleet->live.end()) co_return Result<>();
  // Its name is another's by now.
  if (fleet->births[id] != birth) co_return Result<>();
  fleet->births.erase(id);
  const Micros due = found->second;
  fleet->live.erase(found);
  if (const auto guest = fleet->guests.find(id); guest != fleet->guests.end())
    guest->second->close();
  const bool has_expired = ending.exit_code == native::kAgentExpired ||
                           (due.count() > 0 && due <= system_clock().boot());
  auto why = EndedBy::expiry;
  if (!has_expired) {
    CO_TRY(why, co_await find_reason(fleet, id, ending));
  }
  // Somebody has made it anew meanwhile.
  if (fleet->births.contains(id)) co_return Result<>();
  auto removed = co_await remove_container(fleet, id);
  if (!removed) {
    telemetry::log_warn("a container that has ended is not removed yet",
                        {{"sandbox", id}, {"why", removed.error().message()}});
  }
  if (fleet->tell) fleet->tell(id, why);
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
