// What the clients of tenants with small quotas do: they ask for more than they may have.
#include <algorithm>

#include "tests/simulation/life.h"

namespace atl::simulation {
namespace {

// Shorter than what is waited for until everything is said to have come to rest.
constexpr Millis kPatience{300};

}  // namespace

policy::Quotas small_quotas() {
  policy::Quotas quotas;
  quotas.tenants["small"] = {.sandboxes = 2, .at_once = 1};
  quotas.tenants["tiny"] = {.sandboxes = 1, .at_once = 1};
  return quotas;
}

bool Life::begin_crowding() {
  const std::string tenant = dice_.one_in(2) ? "small" : "tiny";
  auto& crowd_of = crowds_[tenant];
  if (crowd_of.empty() || !dice_.one_in(3)) {
    // Two at a time, so that one has to wait.
    crowd(tenant);
    if (dice_.one_in(2)) crowd(tenant);
    return true;
  }
  const std::string id = dice_.pick(std::vector(crowd_of.begin(), crowd_of.end()));
  crowd_of.erase(id);
  say("destroy " + id + " of " + tenant);
  begin<void>(engine_->destroy({.tenant = tenant}, id), Caller::may_leave, [](Result<>) {});
  return true;
}

void Life::crowd(const std::string& tenant) {
  const std::string tag = "crowd" + std::to_string(++made_);
  Asked asked{.tag = tag};
  draw_place(asked);
  ledger_.ask(asked);
  CreateRequest request = to_request(asked);
  request.queue_timeout = kPatience;
  say("create for " + tenant);
  begin<SandboxView>(
      engine_->create({.tenant = tenant}, std::move(request), std::nullopt), Caller::may_leave,
      [this, tenant, tag](Result<SandboxView> made) {
        say("create for " + tenant + ": " + (made ? made->id : made.error().message()));
        if (!made) {
          refused_ += made.error().code() == Code::resource_exhausted;
          return;
        }
        queued_ += std::ranges::count(made->stages, "queue", &Stage::name) > 0;
        crowds_[tenant].insert(made->id);
        ledger_.check_told(tag, made->id, made->isolation, made->placement);
        check_quota(tenant);
      });
}

// Of what it was given, what is there: the engine counts that, and may count more.
void Life::check_quota(const std::string& tenant) {
  int64_t has = 0;
  for (const auto& view : list_all())
    has += view.state != State::destroyed && crowds_[tenant].contains(view.id);
  const int64_t most = *small_quotas().tenants.at(tenant).sandboxes;
  if (has > most) {
    ledger_.accuse("I8: " + tenant + " has " + std::to_string(has) + " sandboxes, and may have " +
                   std::to_string(most));
  }
}

}  // namespace atl::simulation
