// How much may be asked of an engine, and how long somebody may wait for it.
#pragma once

#include "base/clock.h"
#include "policy/quota.h"

namespace atl {

struct AdmissionOptions {
  policy::Quotas quotas;
  size_t most_creations = 0;     // made at a time, of all tenants; 0 = no limit
  size_t longest_queue = 1'000;  // requests that wait
  // How long a request waits that does not say; zero = not at all.
  Millis queue_timeout{0};
  Millis longest_queue_timeout{std::chrono::minutes(5)};
};

}  // namespace atl
