#include "policy/quota.h"

#include <fmt/format.h>

#include <cmath>

namespace atl::policy {

Amounts& Amounts::operator+=(const Amounts& other) {
  sandboxes += other.sandboxes;
  milli_cpus += other.milli_cpus;
  memory_mb += other.memory_mb;
  disk_mb += other.disk_mb;
  return *this;
}

Amounts& Amounts::operator-=(const Amounts& other) { return *this += other * -1; }

Amounts operator+(Amounts left, const Amounts& right) { return left += right; }

Amounts operator*(Amounts amounts, int64_t count) {
  return {amounts.sandboxes * count, amounts.milli_cpus * count, amounts.memory_mb * count,
          amounts.disk_mb * count};
}

const Quota& Quotas::of(const std::string& tenant) const {
  if (tenants.empty()) return usual;
  const auto found = tenants.find(tenant);
  return found == tenants.end() ? usual : found->second;
}

Amounts amounts_of(const Resources& resources, const Amounts& assumed) {
  Amounts amounts = assumed;
  amounts.sandboxes = 1;
  if (resources.cpu) amounts.milli_cpus = static_cast<int64_t>(std::ceil(*resources.cpu * 1'000));
  if (resources.memory_mb) amounts.memory_mb = *resources.memory_mb;
  if (resources.disk_mb) amounts.disk_mb = *resources.disk_mb;
  return amounts;
}

std::optional<Shortage> find_shortage(const Quota& quota, const Amounts& used,
                                      const Amounts& more) {
  const auto exceeds = [](std::optional<int64_t> most, int64_t have, int64_t ask) {
    return most && ask > 0 && have + ask > *most;
  };
  const auto shortage = [](std::string_view limit, int64_t most, int64_t have, int64_t ask,
                           double unit) {
    return Shortage{limit, static_cast<double>(most) / unit, static_cast<double>(have) / unit,
                    static_cast<double>(ask) / unit};
  };
  if (exceeds(quota.sandboxes, used.sandboxes, more.sandboxes))
    return shortage("sandboxes", *quota.sandboxes, used.sandboxes, more.sandboxes, 1);
  if (exceeds(quota.milli_cpus, used.milli_cpus, more.milli_cpus))
    return shortage("cpus", *quota.milli_cpus, used.milli_cpus, more.milli_cpus, 1'000);
  if (exceeds(quota.memory_mb, used.memory_mb, more.memory_mb))
    return shortage("memory_mb", *quota.memory_mb, used.memory_mb, more.memory_mb, 1);
  if (exceeds(quota.disk_mb, used.disk_mb, more.disk_mb))
    return shortage("disk_mb", *quota.disk_mb, used.disk_mb, more.disk_mb, 1);
  return std::nullopt;
}

std::string Shortage::held() const {
  const char* unit = limit == "sandboxes"   ? "sandboxes"
                     : limit == "cpus"      ? "processors"
                     : limit == "memory_mb" ? "MiB of memory"
                                            : "MiB of disk";
  return fmt::format("{:.10g} of {:.10g} {}", used, most, unit);
}

std::string Shortage::words() const {
  return fmt::format("has {} and asks for {:.10g} more", held(), asked);
}

}  // namespace atl::policy
