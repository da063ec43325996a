#include "native/child/clone_into.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace atl::native {

pid_t clone_into(int group, int (*run)(void*), char* stack, size_t stack_bytes, void* argument) {
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.stack = reinterpret_cast<uintptr_t>(stack);
  args.stack_size = stack_bytes;
  args.cgroup = static_cast<uint64_t>(group);
  // The child begins with our registers and an empty stack of its own, so it can only call on.
#if defined(__x86_64__)
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[argument], %%rdi\n\t"
      "call *%[run]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(&args), "S"(sizeof args), [run] "r"(run), [argument] "r"(argument)
      : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long result asm("x0") = reinterpret_cast<long>(&args);
  register size_t size asm("x1") = sizeof args;
  register long number asm("x8") = SYS_clone3;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x0, %[argument]\n\t"
      "blr %[run]\n\t"
      "brk #0\n"
      "1:"
      : "+r"(result)
      : "r"(size), "r"(number), [run] "r"(run), [argument] "r"(argument)
      : "memory");
#else
  const long result = -ENOSYS;
#endif
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace atl::native
