// A system call and nothing else: the C library's own would write errno, which a child that runs
// beside its parent on the same memory shares with it.
#pragma once

#include <cerrno>

#include "native/child/in_child.h"

namespace atl::native {

// What the kernel answers: a number, or the negative of an error's.
ATOLL_IN_CHILD inline long raw_call(long number, long first = 0, long second = 0, long third = 0,
                                    long fourth = 0) {
#if defined(__x86_64__)
  register long fourth_register asm("r10") = fourth;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(first), "S"(second), "d"(third), "r"(fourth_register)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long result asm("x0") = first;
  register long second_register asm("x1") = second;
  register long third_register asm("x2") = third;
  register long fourth_register asm("x3") = fourth;
  register long number_register asm("x8") = number;
  asm volatile("svc #0"
               : "+r"(result)
               : "r"(second_register), "r"(third_register), "r"(fourth_register),
                 "r"(number_register)
               : "memory");
  return result;
#else
#error "this processor's system calls are not known here"
#endif
}

}  // namespace atl::native
