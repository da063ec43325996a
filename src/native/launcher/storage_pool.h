// The storage pool: where the files of sandboxes live that ask for more disk than memory should
// hold.
//
// It is one btrfs in an image that has no name: a sparse file, unlinked from the start, behind a
// loop device that goes with its last user. The program atoll-pool makes it when the first sandbox
// needs it, mounts it so that it hangs nowhere, and hands the mount over; what each sandbox needs
// is here. A sandbox has a subvolume with a quota of bytes, in which its metadata counts, and sees
// nothing but that. Ids on disk are 0 to 65,535 whatever range a sandbox has: its mount translates.
//
// A pool is worth nothing without its sandboxes, so nothing waits for the disk to have it. Killed
// with kill -9, a launcher leaves it to the sandboxes that are in it; its successor finds the loop
// device by the token in kPoolFile, which no other loop device has, and goes on. When the last
// sandbox and the launcher are gone the kernel drops mount, loop device and image by itself.
//
// What sandboxes are promised is at most nine tenths of the pool, so that each can have all of it:
// the rest is for what btrfs itself needs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

// In the run directory: "/dev/loopN" and the token that the device bears as its name.
constexpr const char* kPoolFile = "pool";

struct PoolWorker {
  pid_t pid = 0;
  Fd answer;  // a socket
};
// Starts atoll-pool, whose open executable `program` is. It finds the run directory where it is in
// the caller: on descriptor 3.
Result<PoolWorker> start_pool_worker(int program);

class StoragePool final {
 public:
  bool is_open() const { return static_cast<bool>(top_); }

  // Takes the answer of atoll-pool: u8 0, the device as text and "", with the mount as the only
  // descriptor; or u8 1 + Code, message and hint. Removes what belongs to no sandbox that is here.
  Result<> open(std::string_view answer, std::vector<Fd> descriptors);

  // A place of `bytes` for a sandbox, as a mount that hangs nowhere yet.
  // Code::resource_exhausted when so much cannot be promised any more.
  Result<Fd> create(const std::string& id, uint64_t bytes);
  // One that an earlier launcher has made.
  void adopt(const std::string& id, uint64_t bytes) { sandboxes_[id] = bytes; }
  // Whatever is in it; the kernel frees the space in its own time. Missing is fine.
  Result<> remove(const std::string& id);

  bool has_sandboxes() const { return !sandboxes_.empty(); }

 private:
  Result<Fd> make(const std::string& id, uint64_t bytes);
  Result<> destroy(const std::string& id);

  Fd mount_;
  Fd top_;  // its root directory
  std::string device_;
  uint64_t capacity_ = 0;
  std::map<std::string, uint64_t> sandboxes_;  // and what they were promised
};

}  // namespace atl::native
