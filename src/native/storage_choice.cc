#include "native/storage_choice.h"

#include <algorithm>

namespace atl::native {
namespace {

constexpr uint64_t kMostInMemory = 1ULL << 30;

}  // namespace

StorageChoice choose_storage(uint64_t disk_bytes, uint64_t memory_bytes, Authority authority,
                             PoolObstacle (*find_obstacle)()) {
  const uint64_t memory = memory_bytes > 0 ? memory_bytes : kDefaultMemory;
  if (disk_bytes == 0) return {Storage::memory, "in memory: no disk is asked for"};
  if (disk_bytes <= std::min(kMostInMemory, memory / 2))
    return {Storage::memory, "in memory: the disk is at most 1 GiB and half of the memory"};
  const std::string large = "the disk is more than 1 GiB or half of the memory";
  if (authority == Authority::rootless)
    return {Storage::memory, "in memory: " + large + ", but the storage pool needs root"};
  const auto obstacle = find_obstacle();
  if (!obstacle.reason.empty()) {
    return {Storage::memory, "in memory: " + large + ", but there is no storage pool: " +
                                 obstacle.reason + " (" + obstacle.repair + ")"};
  }
  return {Storage::pool, "in the storage pool: " + large};
}

}  // namespace atl::native
