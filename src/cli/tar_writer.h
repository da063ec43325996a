// TarWriter: a few small files as a tar archive (ustar) in memory, plain or compressed with gzip.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::cli {

class TarWriter final {
 public:
  // `modified` is in seconds since 1970, for every file.
  explicit TarWriter(int64_t modified) : modified_(modified) {}

  // Names of at most 100 bytes, below one directory or two: Code::invalid_argument otherwise.
  Result<> add(std::string_view name, std::string_view bytes);
  // The whole archive; nothing can be added afterwards.
  std::string finish();

 private:
  int64_t modified_;
  std::string archive_;
};

// One gzip member (RFC 1952).
Result<std::string> to_gzip(std::string_view bytes);

}  // namespace atl::cli
