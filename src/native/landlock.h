// Landlock: which files a process and all its descendants may reach, enforced by the kernel without
// any privilege.
//
// Rules are only ever added to a process, never taken away, and survive exec. ABI 1 came with
// kernel 5.13; later ones add truncation (3, 6.2), TCP (4, 6.7), device ioctls (5, 6.10) and scopes
// for signals and abstract sockets (6, 6.12). What the running kernel lacks is left out and shows
// in landlock_abi().
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

// 0 = the kernel has no Landlock, or it is switched off.
int landlock_abi();

enum class FileAccess : uint8_t {
  read_execute,  // system directories
  read_only,
  read_write,  // files of the workspace: everything, executing included
  device,      // read and write one existing node
};

enum class LandlockTcp : uint8_t { deny, leave };

// The kernel's bits for `access`, of those that this ABI knows. A file takes fewer than a
// directory.
uint64_t landlock_rights(FileAccess access, int abi, bool is_directory);

// A set of rules, built once and applied to each child by the descriptor (landlock_restrict_self in
// child/).
class LandlockRules final {
 public:
  // Denies every access to files that the kernel can control, signals and abstract sockets to the
  // outside, and TCP where there is no network namespace that does it better.
  static Result<LandlockRules> create(LandlockTcp tcp = LandlockTcp::deny);

  Result<> allow(int directory_or_file, FileAccess access);
  // A path that does not exist on this host is skipped.
  Result<> allow_if_present(const std::string& path, FileAccess access);

  int descriptor() const { return ruleset_.get(); }
  int abi() const { return abi_; }

 private:
  LandlockRules(Fd ruleset, int abi) : ruleset_(std::move(ruleset)), abi_(abi) {}

  Fd ruleset_;
  int abi_;
};

}  // namespace atl::native
