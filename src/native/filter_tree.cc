#include "native/filter_tree.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace atl::native {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "this architecture has no filter yet"
#endif

// x32 programs are x86-64 ones to the kernel's audit, and set this bit in their call numbers.
constexpr uint32_t kX32Bit = 0x40000000;
constexpr uint32_t kNegative = 0x80000000;

// The reach of a conditional jump.
constexpr size_t kFarthest = UINT8_MAX;

sock_filter load(size_t word) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(word));
}

Fragment answer(uint32_t action) { return {BPF_STMT(BPF_RET | BPF_K, action)}; }

void append(Fragment& program, const Fragment& more) {
  program.insert(program.end(), more.begin(), more.end());
}

bool same(const sock_filter& a, const sock_filter& b) {
  return a.code == b.code && a.jt == b.jt && a.jf == b.jf && a.k == b.k;
}
bool same(const Fragment& a, const Fragment& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

// `no` follows at once, `yes` after it.
Fragment branch(uint16_t comparison, uint32_t operand, const Fragment& yes, const Fragment& no) {
  const auto code = static_cast<uint16_t>(BPF_JMP | comparison | BPF_K);
  const auto distance = static_cast<uint32_t>(no.size());
  Fragment program;
  if (distance <= kFarthest) {
    program.push_back(BPF_JUMP(code, operand, static_cast<uint8_t>(distance), 0));
  } else {
    program.push_back(BPF_JUMP(code, operand, 0, 1));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JA, distance, 0, 0));
  }
  append(program, no);
  append(program, yes);
  return program;
}

using Range = std::pair<uint32_t, const Fragment*>;  // from which value on

// Jumps only go forward, so the tree is written from its end to its beginning: what a comparison
// jumps to is there already, and equal answers within reach are shared. The sandbox's filter has
// 178 instructions this way, and 294 without the sharing.
class TreeWriter final {
 public:
  static Fragment write(std::span<const Range> ranges) {
    TreeWriter writer;
    writer.put(ranges);
    return {writer.backwards_.rbegin(), writer.backwards_.rend()};
  }

 private:
  // Returns where the first instruction is, counted from the end.
  size_t put(std::span<const Range> ranges) {
    if (ranges.size() == 1) return put(*ranges.front().second);
    const size_t middle = ranges.size() / 2;
    const size_t yes = put(ranges.subspan(middle));
    const size_t no = put(ranges.first(middle));
    const size_t near_yes = within_reach(yes);
    const size_t near_no = within_reach(no);
    // A stepping stone for the second branch may have moved the first one away by one.
    const auto jump = [&](size_t to) { return static_cast<uint8_t>(distance(to)); };
    return push(
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, jump(near_yes), jump(near_no)));
  }

  size_t put(const Fragment& fragment) {
    if (fragment.size() == 1) {
      for (size_t above = backwards_.size(); above > 0; --above) {
        const size_t at = above - 1;
        if (distance(at) >= kShareWithin) break;
        if (same(backwards_[at], fragment.front())) return at;
      }
    }
    for (size_t i = fragment.size(); i-- > 0;) push(fragment[i]);
    return backwards_.size() - 1;
  }

  // The target itself, or an unconditional jump to it right here. One place is kept for the other
  // branch's.
  size_t within_reach(size_t target) {
    if (distance(target) < kFarthest) return target;
    return push(BPF_JUMP(BPF_JMP | BPF_JA, static_cast<uint32_t>(distance(target)), 0, 0));
  }

  // From the instruction that is written next.
  size_t distance(size_t target) const { return backwards_.size() - target - 1; }

  size_t push(sock_filter instruction) {
    backwards_.push_back(instruction);
    return backwards_.size() - 1;
  }

  // Leaves the comparisons that follow some room before they need stepping stones.
  static constexpr size_t kShareWithin = 200;

  std::vector<sock_filter> backwards_;
};

}  // namespace

Fragment allow() { return answer(SECCOMP_RET_ALLOW); }
Fragment refuse(int error) { return answer(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }
Fragment kill_process() { return answer(SECCOMP_RET_KILL_PROCESS); }

size_t word_of_call() { return offsetof(seccomp_data, nr); }
// The low half comes first: both architectures are little-endian.
size_t word_of_argument(size_t index) {
  return offsetof(seccomp_data, args) + index * sizeof(uint64_t);
}

Fragment if_equal(size_t word, uint32_t value, const Fragment& then, const Fragment& otherwise) {
  Fragment program{load(word)};
  append(program, branch(BPF_JEQ, value, then, otherwise));
  return program;
}

Fragment if_any_bit(size_t word, uint32_t bits, const Fragment& then, const Fragment& otherwise) {
  Fragment program{load(word)};
  append(program, branch(BPF_JSET, bits, then, otherwise));
  return program;
}

Decision::Decision(Fragment otherwise) { from_.emplace(0, std::move(otherwise)); }

void Decision::set_range(uint32_t first, uint32_t last, const Fragment& fragment) {
  if (last != UINT32_MAX) {
    // What holds at `last` goes on after it.
    const auto after = from_.upper_bound(last);
    from_.emplace(last + 1, std::prev(after)->second);
  }
  from_.erase(from_.lower_bound(first), last == UINT32_MAX ? from_.end() : from_.upper_bound(last));
  from_.emplace(first, fragment);
}

Fragment Decision::on(size_t word, uint32_t mask) const {
  std::vector<Range> ranges;
  for (const auto& [value, fragment] : from_) {
    if (ranges.empty() || !same(*ranges.back().second, fragment)) {
      ranges.emplace_back(value, &fragment);
    }
  }
  Fragment program{load(word)};
  if (mask != UINT32_MAX) program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
  append(program, TreeWriter::write(ranges));
  return program;
}

Fragment filter_of(Decision calls) {
#if defined(__x86_64__)
  calls.set_range(kX32Bit, kNegative - 1, kill_process());
#endif
  calls.set_range(kNegative, UINT32_MAX, refuse(ENOSYS));
  return if_equal(offsetof(seccomp_data, arch), kArchitecture, calls.on(word_of_call()),
                  kill_process());
}

}  // namespace atl::native
