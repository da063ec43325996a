#include "native/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace atl::native {
namespace {

// Debian 12's headers stop at ABI 2, so the names of later ones stand here.
constexpr uint64_t kExecute = 1ULL << 0;
constexpr uint64_t kWriteFile = 1ULL << 1;
constexpr uint64_t kReadFile = 1ULL << 2;
constexpr uint64_t kReadDir = 1ULL << 3;
constexpr uint64_t kRefer = 1ULL << 13;     // ABI 2
constexpr uint64_t kTruncate = 1ULL << 14;  // ABI 3
constexpr uint64_t kIoctlDev = 1ULL << 15;  // ABI 5
constexpr uint64_t kAllOfAbi1 = (1ULL << 13) - 1;
constexpr uint64_t kTcpBindAndConnect = 3;               // ABI 4
constexpr uint64_t kScopeAbstractSocketsAndSignals = 3;  // ABI 6
constexpr uint64_t kForFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;

struct RulesetAttributes {
  uint64_t files;
  uint64_t net;
  uint64_t scoped;
};

constexpr unsigned kCreateVersion = 1;

uint64_t handled_files(int abi) {
  uint64_t all = kAllOfAbi1;
  if (abi >= 2) all |= kRefer;
  if (abi >= 3) all |= kTruncate;
  if (abi >= 5) all |= kIoctlDev;
  return all;
}

uint64_t rights_of(FileAccess access) {
  switch (access) {
    case FileAccess::read_execute:
      return kExecute | kReadFile | kReadDir;
    case FileAccess::read_only:
      return kReadFile | kReadDir;
    case FileAccess::device:
      return kReadFile | kReadDir | kWriteFile | kTruncate | kIoctlDev;
    case FileAccess::read_write:
      return ~0ULL;
  }
  return 0;
}

}  // namespace

int landlock_abi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kCreateVersion);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

uint64_t landlock_rights(FileAccess access, int abi, bool is_directory) {
  const uint64_t rights = rights_of(access) & handled_files(abi);
  return is_directory ? rights : rights & kForFiles;
}

Result<LandlockRules> LandlockRules::create(LandlockTcp tcp) {
  const int abi = landlock_abi();
  if (abi < 1) {
    return Error(Code::unavailable, "the kernel does not offer Landlock")
        .with_hint("Landlock needs kernel 5.13 or later and 'landlock' in the lsm= boot parameter");
  }
  RulesetAttributes attributes{handled_files(abi), 0, 0};
  size_t size = sizeof attributes.files;
  if (abi >= 4) {
    if (tcp == LandlockTcp::deny) attributes.net = kTcpBindAndConnect;
    size += sizeof attributes.net;
  }
  if (abi >= 6) {
    attributes.scoped = kScopeAbstractSocketsAndSignals;
    size += sizeof attributes.scoped;
  }
  Fd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset) return os_error("making a Landlock ruleset");
  return LandlockRules(std::move(ruleset), abi);
}

}  // namespace atl::native
