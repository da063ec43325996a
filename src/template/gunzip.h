// Gunzip: gzip data (RFC 1952), unpacked as it comes, cut anywhere; several members in a row are
// one.
//
// The data is not trusted: its checksum and length are compared, and whoever takes the output
// bounds it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace atl {

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";

class Gunzip final {
 public:
  using Sink = std::function<Result<>(std::string_view)>;

  explicit Gunzip(Sink sink);
  ~Gunzip();

  // Code::invalid_argument for what is no gzip, or damaged; the sink's errors as they are.
  Result<> put(std::string_view bytes);
  // There is no more: Code::invalid_argument if it was cut off.
  Result<> finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace atl
