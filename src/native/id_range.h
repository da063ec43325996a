// A range of 65,536 user and group ids for each sandbox, that no other living sandbox of this host
// has.
//
// Ranges are told apart by locked files in one directory of the host, because several launchers may
// be at work (a daemon's, those of `atoll run`). The lock belongs to an open file, and the agent
// inherits it: it holds as long as the launcher or anybody in the sandbox lives, and needs no
// cleaning up after a crash.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

constexpr uint32_t kIdsPerBox = 65'536;
// 1,073,741,824 and up: far from what distributions hand to people, services and containers.
constexpr uint32_t kFirstBoxId = 0x4000'0000;
constexpr uint32_t kIdRanges = 20'000;

struct IdRange {
  uint32_t slot = kIdRanges;  // none
  uint32_t base() const { return kFirstBoxId + slot * kIdsPerBox; }
  Fd lock;
};

// The directory with the locks, made if missing: /run/atoll/ids.
Result<Fd> open_id_directory();
// `hint` is where to look first.
Result<IdRange> take_id_range(const Fd& directory, uint32_t hint);

}  // namespace atl::native
