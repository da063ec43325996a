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

void ByteWriter::pairs(const std::map<std::string, std::string>& values) {
  u32(static_cast<uint32_t>(values.size()));
  for (const auto& [key, value] : values) {
    text(key);
    text(value);
  }
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

std::vector<std::string> ByteReader::texts(size_t most) {
  const uint32_t count = u32();
  // Each entry takes at least its own count, so a larger claim is a lie.
  if (count > most || count > rest_.size() / sizeof(uint32_t)) broken_ = true;
  std::vector<std::string> values;
  for (uint32_t i = 0; i < count && !broken_; ++i) values.emplace_back(text());
  return values;
}

std::map<std::string, std::string> ByteReader::pairs(size_t most) {
  const uint32_t count = u32();
  if (count > most || count > rest_.size() / (2 * sizeof(uint32_t))) broken_ = true;
  std::map<std::string, std::string> values;
  for (uint32_t i = 0; i < count && !broken_; ++i) {
    const auto key = text();
    const auto value = text();
    values.insert_or_assign(std::string(key), std::string(value));
  }
  return values;
}

Result<> ByteReader::finish() const {
  if (broken_)
    return Error(Code::invalid_argument, "malformed message: a field is missing or too long");
  if (!rest_.empty()) return Error(Code::invalid_argument, "malformed message: bytes left over");
  return {};
}

}  // namespace atl
