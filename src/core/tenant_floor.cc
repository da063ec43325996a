#include "core/tenant_floor.h"

namespace atl {

Result<> check_floor(const policy::Quotas& quotas, const SandboxRecord& record,
                     std::string_view verb) {
  const policy::Quota& floor = quotas.of(record.tenant);
  const auto refused = [&](std::string_view has, std::string_view most) {
    return Error(Code::permission_denied, "sandbox " + record.id + " cannot " + std::string(verb) +
                                              ": it has " + std::string(has) +
                                              ", and its tenant has nothing " + std::string(most))
        .with_hint("make a new one: the router holds to the floor");
  };
  if (floor.min_isolation && record.isolation < *floor.min_isolation) {
    return refused("isolation " + std::string(json::name_of(record.isolation)),
                   "below " + std::string(json::name_of(*floor.min_isolation)));
  }
  if (floor.placement && record.placement > *floor.placement) {
    return refused("placement " + std::string(json::name_of(record.placement)),
                   "beyond " + std::string(json::name_of(*floor.placement)));
  }
  return {};
}

}  // namespace atl
