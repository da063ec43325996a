// The checksum of gzip (CRC-32 of ISO 3309).
#pragma once

#include <cstdint>
#include <string_view>

namespace atl {

// Of `bytes`, or of what `crc` is the checksum of with `bytes` behind it.
uint32_t crc32_of(std::string_view bytes, uint32_t crc = 0);

}  // namespace atl
