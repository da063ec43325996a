// Arbitrary bytes as what a tool in a hostile sandbox says.
#include <cstdint>

#include "guest/tool_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  atl::guest::RecordReader reader;
  // The first byte decides how the rest is cut into reads.
  const size_t piece = size > 0 ? data[0] + 1u : 1u;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.put(bytes.substr(at, piece));
    for (;;) {
      auto record = reader.next();
      if (!record) return 0;
      if (!*record) break;
    }
  }
  return 0;
}
