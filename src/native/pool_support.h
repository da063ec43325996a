// Whether this host can hold a storage pool (launcher/storage_pool.h). Looks, and changes nothing.
#pragma once

#include <string>

namespace atl::native {

struct PoolObstacle {
  std::string reason;  // "" = there is none
  std::string repair;  // a command
};
PoolObstacle find_pool_obstacle();

// Where mkfs.btrfs is; nullptr = nowhere that systems install it.
const char* find_mkfs_btrfs();

}  // namespace atl::native
