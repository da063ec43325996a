#include "policy/pool_reader.h"

#include <cmath>

#include "policy/written_value.h"

namespace atl::policy {
namespace {

Result<int64_t> to_count(const json::Value& value) {
  const auto number = number_of(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 1e6) {
    return wrong("pool", "min, target and max are whole numbers");
  }
  return static_cast<int64_t>(*number);
}

}  // namespace

Result<PoolAsk> read_pool(const json::Value& value) {
  const json::Object* object = value.if_object();
  if (object == nullptr) {
    return wrong("pool", "expected {min, target, max, idle, max_age}");
  }
  PoolAsk ask;
  for (const auto& member : *object) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key == "min") {
      TRY(ask.min, to_count(member.value()));
    } else if (key == "target") {
      TRY(ask.target, to_count(member.value()));
    } else if (key == "max") {
      TRY(ask.max, to_count(member.value()));
    } else if (key == "idle") {
      TRY(ask.idle_s, to_seconds("pool", member.value()));
    } else if (key == "max_age") {
      TRY(ask.max_age_s, to_seconds("pool", member.value()));
    } else {
      return wrong("pool", "expected {min, target, max, idle, max_age}");
    }
  }
  auto settled = settle(ask);
  if (!settled) return std::move(settled).error().with("pool");
  return ask;
}

}  // namespace atl::policy
