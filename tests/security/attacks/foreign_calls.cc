// System calls by other doors: the i386 one (int 0x80) and the x32 numbers. A filter that knows
// only x86-64 numbers lets unshare pass as something harmless.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

#if defined(__x86_64__)
namespace {

constexpr long kGetpidI386 = 20;
constexpr long kX32 = 0x40000000;

int by_int80() {
  long answer = kGetpidI386;
  __asm__ volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
  return answer == getpid() ? 0 : answer < 0 ? static_cast<int>(-answer) : EPROTO;
}

int by_x32() {
  errno = 0;
  const long answer = syscall(kX32 | SYS_getpid);
  return answer == getpid() ? 0 : errno;
}

}  // namespace

ATTACK(
    i386_calls, .title = "system calls by int 0x80", .dossier = 43, .stopped_by = Layer::seccomp,
    .missing = [] {
      return std::string(in_child(by_int80) == 0 ? "" : "the kernel has no i386 calls");
    }) {
  const int answer = in_child(by_int80);
  if (answer != 0) return denied(answer, "int 0x80");
  return reached("getpid by int 0x80");
}

ATTACK(
    x32_calls, .title = "system calls by x32 numbers", .dossier = 43, .stopped_by = Layer::seccomp,
    .missing = [] {
      return std::string(in_child(by_x32) == 0 ? "" : "the kernel has no x32 calls");
    }) {
  const int answer = in_child(by_x32);
  if (answer != 0) return denied(answer, "getpid by x32");
  return reached("getpid by x32");
}
#else
ATTACK(
    i386_calls, .title = "system calls by int 0x80", .dossier = 43, .stopped_by = Layer::seccomp,
    .missing = [] { return std::string("another architecture"); }) {
  return not_applicable("another architecture");
}
#endif
