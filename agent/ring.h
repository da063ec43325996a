// A bounded window over one output stream: the newest bytes, addressed by their offset from the
// stream's beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace atl::agent {

class Ring final {
 public:
  // Memory is taken as output comes, up to `capacity` (at least 4 KiB, rounded up to a power of
  // two).
  explicit Ring(size_t capacity);

  // Kept are the bytes [first, end).
  uint64_t first() const { return first_; }
  uint64_t end() const { return end_; }
  size_t capacity() const { return capacity_; }
  size_t memory() const { return bytes_.size(); }

  // Space to read up to `most` further bytes into; the oldest bytes are overwritten if the ring is
  // full. commit() says how many came.
  std::span<char> prepare(size_t most);
  void commit(size_t count);
  void append(std::string_view bytes);

  // The bytes from `offset` (at least first()) on, as far as they lie in one piece.
  std::string_view piece(uint64_t offset) const;

 private:
  void grow_for(size_t more);

  size_t capacity_;
  std::string bytes_;  // its size is a power of two
  uint64_t first_ = 0;
  uint64_t end_ = 0;
};

}  // namespace atl::agent
