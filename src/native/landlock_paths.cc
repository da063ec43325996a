// The agent's part of landlock.h: rules for paths. The launcher's child adds its own without
// memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "native/landlock.h"
#include "os/file.h"

namespace atl::native {
namespace {

struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent;
};

constexpr int kRulePathBeneath = 1;

}  // namespace

Result<> LandlockRules::allow(int directory_or_file, FileAccess access) {
  struct stat info{};
  if (fstat(directory_or_file, &info) != 0) return os_error("looking at a path for Landlock");
  PathBeneath rule{};
  rule.allowed = landlock_rights(access, abi_, S_ISDIR(info.st_mode));
  rule.parent = directory_or_file;
  if (syscall(SYS_landlock_add_rule, ruleset_.get(), kRulePathBeneath, &rule, 0) != 0) {
    return os_error("adding a Landlock rule");
  }
  return {};
}

Result<> LandlockRules::allow_if_present(const std::string& path, FileAccess access) {
  auto fd = os::open_at(AT_FDCWD, path, O_PATH);
  if (!fd) {
    const int number = fd.error().os_errno();
    if (number == ENOENT || number == ENOTDIR || number == EACCES) return {};
    return std::move(fd).error();
  }
  return allow(fd->get(), access);
}

}  // namespace atl::native
