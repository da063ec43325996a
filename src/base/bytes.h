// Bounded reading and writing of the binary messages that the launcher and the agent speak.
//
// Little-endian integers; strings and lists carry a 32-bit count. A reader never reads past its end
// and never believes a count that the rest of the message could not hold: the bytes may come from a
// hostile guest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl {

class ByteWriter final {
 public:
  void u8(uint8_t value) { out_ += static_cast<char>(value); }
  void u32(uint32_t value) { put(value); }
  void u64(uint64_t value) { put(value); }
  void i64(int64_t value) { put(static_cast<uint64_t>(value)); }
  void text(std::string_view value);
  void raw(std::string_view value) { out_ += value; }  // no count: the last field of a message
  void texts(const std::vector<std::string>& values);
  void pairs(const std::map<std::string, std::string>& values);

  const std::string& bytes() const& { return out_; }
  std::string bytes() && { return std::move(out_); }

 private:
  template <typename Integer>
  void put(Integer value) {
    char buffer[sizeof value];
    __builtin_memcpy(buffer, &value, sizeof value);  // x86-64 and arm64 are little-endian
    out_.append(buffer, sizeof buffer);
  }

  std::string out_;
};

// After a failed read every further read gives zeros and empties; ask finish() once at the end.
class ByteReader final {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t u8();
  uint32_t u32();
  uint64_t u64();
  int64_t i64() { return static_cast<int64_t>(u64()); }
  std::string_view text();  // borrows from the message
  std::string_view raw();   // everything that is left
  std::vector<std::string> texts(size_t most);
  std::map<std::string, std::string> pairs(size_t most);

  // Fails if anything was missing, too much, or left over.
  Result<> finish() const;

 private:
  std::string_view take(size_t count);

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace atl
