#include "base/crc32.h"

#include <array>

namespace atl {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
    table[i] = value;
  }
  return table;
}

}  // namespace

uint32_t crc32_of(std::string_view bytes, uint32_t crc) {
  static constexpr auto kTable = make_table();
  crc = ~crc;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

}  // namespace atl
