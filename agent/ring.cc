#include "agent/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace atl::agent {
namespace {

constexpr size_t kSmallest = 4096;

}  // namespace

Ring::Ring(size_t capacity) : capacity_(std::bit_ceil(std::max(capacity, kSmallest))) {}

void Ring::grow_for(size_t more) {
  const size_t wanted = static_cast<size_t>(end_ - first_) + more;
  if (bytes_.size() >= std::min(wanted, capacity_)) return;
  std::string larger(std::clamp(std::bit_ceil(wanted), kSmallest, capacity_), '\0');
  for (uint64_t at = first_; at < end_;) {
    const auto part = piece(at);
    // Both sizes are powers of two, so a piece may wrap in neither or only at the larger one's end.
    const size_t place = at & (larger.size() - 1);
    const size_t fits = std::min(part.size(), larger.size() - place);
    std::memcpy(larger.data() + place, part.data(), fits);
    at += fits;
  }
  bytes_ = std::move(larger);
}

std::span<char> Ring::prepare(size_t most) {
  grow_for(std::min(most, capacity_));
  const size_t place = end_ & (bytes_.size() - 1);
  return {bytes_.data() + place, std::min(most, bytes_.size() - place)};
}

void Ring::commit(size_t count) {
  end_ += count;
  if (end_ - first_ > bytes_.size()) first_ = end_ - bytes_.size();
}

void Ring::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto space = prepare(bytes.size());
    std::memcpy(space.data(), bytes.data(), space.size());
    commit(space.size());
    bytes.remove_prefix(space.size());
  }
}

std::string_view Ring::piece(uint64_t offset) const {
  const size_t place = offset & (bytes_.size() - 1);
  const size_t kept = static_cast<size_t>(end_ - offset);
  return {bytes_.data() + place, std::min(kept, bytes_.size() - place)};
}

}  // namespace atl::agent
