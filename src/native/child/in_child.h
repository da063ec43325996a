// For functions that run between clone and exec in the parent's memory: no sanitizer looks at the
// child's stack, and nothing may allocate, lock or throw.
#pragma once

#define ATOLL_IN_CHILD \
  __attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector))
