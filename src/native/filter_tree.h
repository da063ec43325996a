// BPF programs for seccomp, made of fragments.
//
// A fragment is a run of instructions that answers on every path; a Decision chooses between
// fragments by one 32-bit word. It compiles to a balanced tree of ranges: a handful of comparisons
// for any value, and cheap to load, because the kernel walks the program once for each system call
// to learn which are allowed whatever their arguments are.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace atl::native {

using Fragment = std::vector<sock_filter>;

Fragment allow();
// The call is not made and fails with this errno.
Fragment refuse(int error);
Fragment kill_process();

// Where the words of seccomp_data are. Of an argument this is the low half. The kernel cuts the
// arguments that Atoll checks (flags, families, requests, options) to 32 bits too, so that nothing
// hides in the high half.
size_t word_of_call();
size_t word_of_argument(size_t index);

Fragment if_equal(size_t word, uint32_t value, const Fragment& then, const Fragment& otherwise);
Fragment if_any_bit(size_t word, uint32_t bits, const Fragment& then, const Fragment& otherwise);

class Decision final {
 public:
  explicit Decision(Fragment otherwise);

  // A later word on a value replaces an earlier one.
  void set(uint32_t value, const Fragment& fragment) { set_range(value, value, fragment); }
  void set_range(uint32_t first, uint32_t last, const Fragment& fragment);  // both included

  // Looks at all bits of the word, or at those in the mask.
  Fragment on(size_t word, uint32_t mask = UINT32_MAX) const;

 private:
  // What holds from a value up to the next one. Always has an entry for 0.
  std::map<uint32_t, Fragment> from_;
};

// The whole program: this architecture's calls are decided by number, all others end the process,
// x32's too, because their numbers mean something else. What the processor's call instruction
// cannot name is unknown (ENOSYS).
Fragment filter_of(Decision calls);

}  // namespace atl::native
