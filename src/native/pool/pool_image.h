// Making the storage pool of launcher/storage_pool.h, or finding the one that is there.
//
// The image is an unlinked sparse file in the run directory or, where that is in memory, in
// /var/tmp. It is as large as nine tenths of what is free there: the pool is full before the host's
// disk is. Freed blocks are given back to the host (discard). Nothing in it has to survive a crash
// of the kernel, so no write waits for the disk to flush (nobarrier).
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

struct OpenedPool {
  std::string device;  // "/dev/loop3"
  Fd mount;            // hangs nowhere
};

// Code::out_of_space when the host's disk has too little room for one.
Result<OpenedPool> open_pool(int run_directory);

}  // namespace atl::native
