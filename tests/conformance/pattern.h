// A stream of bytes in which every place differs from every other: a lost, doubled or moved piece
// shows at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::conformance {

inline uint64_t pattern_word(uint64_t index) {
  uint64_t x = index + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The bytes [offset, offset + count) of the stream.
inline void fill_pattern(char* to, uint64_t offset, size_t count) {
  for (size_t done = 0; done < count;) {
    const uint64_t at = offset + done;
    const uint64_t word = pattern_word(at / 8);
    if (at % 8 == 0 && count - done >= 8) {
      __builtin_memcpy(to + done, &word, 8);
      done += 8;
    } else {
      to[done++] = static_cast<char>(word >> (8 * (at % 8)));
    }
  }
}

}  // namespace atl::conformance
