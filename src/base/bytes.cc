#include "base/bytes.h"

#include <cstring>

namespace atl {

void ByteWriter::text(std::string_view value) {
  u32(static_cast<uint32_t>(value.size()));
  out_ += value;
}

void ByteWriter::texts(const std::vector<std::string>& values) {
  u32(static_cast<uint32_t>(values.size()));
  for (const auto& value : values) text(value);
}

std::string_view ByteReader::take(size_t count) {
  if (broken_ || count > rest_.size()) {
    broken_ = true;
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

uint8_t ByteReader::u8() {
  const auto bytes = take(1);
  return bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
}

uint32_t ByteReader::u32() {
  uint32_t value = 0;
  if (const auto bytes = take(sizeof value); !bytes.empty())
    std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

uint64_t ByteReader::u64() {
  uint64_t value = 0;
  if (const auto bytes = take(sizeof value); !bytes.empty())
    std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string_view ByteReader::text() { return take(u32()); }

std::string_view ByteReader::raw() { return take(rest_.size()); }

Result<> ByteReader::finish() const {
  if (broken_)
    return Error(Code::invalid_argument, "malformed message: a field is missing or too long");
  if (!rest_.empty()) return Error(Code::invalid_argument, "malformed message: bytes left over");
  return {};
}

}  // namespace atl
