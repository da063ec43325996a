#include "base/crc32.h"

#include <array>

namespace atl {
namespace {

// Eight bytes at a time: table k tells what a byte becomes with k zeros behind it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
    tables[0][i] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

}  // namespace

uint32_t crc32_of(std::string_view bytes, uint32_t crc) {
  static constexpr auto kTables = make_tables();
  crc = ~crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    __builtin_memcpy(&word, bytes.data(), sizeof word);  // x86-64 and arm64 are little-endian
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < sizeof word; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
    bytes.remove_prefix(sizeof word);
  }
  for (const char c : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

}  // namespace atl
