// The part of bytes.h that the launcher has no use for: it reads no lists, and writes no pairs.
#include "base/bytes.h"

namespace atl {

void ByteWriter::pairs(const std::map<std::string, std::string>& values) {
  u32(static_cast<uint32_t>(values.size()));
  for (const auto& [key, value] : values) {
    text(key);
    text(value);
  }
}

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

}  // namespace atl
