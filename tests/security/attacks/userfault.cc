// userfaultfd stops the kernel in the middle of a copy: the helper of many races.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/security/attack.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

using namespace atl::attack;  // NOLINT

namespace {

std::string missing_userfault() {
  const long made = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  if (made < 0) return "the kernel has no userfaultfd";
  close(static_cast<int>(made));
  return "";
}

}  // namespace

ATTACK(userfaultfd_call, .title = "make a userfaultfd", .dossier = 10, .stopped_by = Layer::seccomp,
       .missing = missing_userfault) {
  const long made = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  if (made < 0) return denied("userfaultfd");
  close(static_cast<int>(made));
  return reached("a userfaultfd");
}
