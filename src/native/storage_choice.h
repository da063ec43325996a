// Where the files of a sandbox go: into memory, which is fast and counts as the sandbox's memory,
// or into the storage pool, which has room.
#pragma once

#include <cstdint>
#include <string>

#include "native/plan.h"
#include "native/pool_support.h"

namespace atl::native {

struct StorageChoice {
  Storage storage = Storage::memory;
  std::string reason;  // for people
};

// A disk of up to 1 GiB and half of the memory stays in memory; so does what nobody asked for, and
// everything where there is no pool. Zero = not asked for. The host is looked at only if it
// matters.
StorageChoice choose_storage(uint64_t disk_bytes, uint64_t memory_bytes, Authority authority,
                             PoolObstacle (*find_obstacle)());

}  // namespace atl::native
