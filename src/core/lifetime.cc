#include "core/lifetime.h"

#include <algorithm>

namespace atl {
namespace {

using std::chrono::seconds;

seconds keep_of(const SandboxRecord& record, const EngineOptions& options) {
  if (record.on_expire() == OnEnd::kill) return seconds(0);
  return record.asked.keep_s ? seconds(*record.asked.keep_s) : options.default_keep;
}

}  // namespace

void set_lifetime(SandboxRecord& record, Moment from, seconds ttl, const DriverSlot& slot,
                  const EngineOptions& options) {
  if (record.lifecycle == Lifecycle::persistent) return;
  seconds keep = keep_of(record, options);
  seconds grace(record.asked.stop_s);
  if (const auto most = slot.capabilities->max_lifetime_s) {
    const auto left = std::chrono::floor<seconds>(record.created_at + seconds(*most) - from.wall);
    ttl = std::clamp(left, seconds(0), ttl);
    keep = std::clamp(left - ttl, seconds(0), keep);
    grace = std::clamp(left - ttl - keep, seconds(0), grace);
  }
  record.expires_at = from.wall + ttl;
  record.expires_boot = from.boot + ttl;
  record.asked.course.keep_s = keep.count();
  record.asked.course.grace_s = grace.count();
}

}  // namespace atl
