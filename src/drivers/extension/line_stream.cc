#include "drivers/extension/line_stream.h"

#include <algorithm>
#include <cstring>

#include "drivers/extension/messages.h"

namespace atl::extension {
namespace {

constexpr size_t kPiece = 16 * 1024;

}  // namespace

Task<std::string> LineStream::read_line() {
  size_t looked_at = 0;
  for (;;) {
    const size_t end = ahead_.find('\n', looked_at);
    if (end != std::string::npos && end <= kLongestLine) {
      std::string line = ahead_.substr(0, end);
      ahead_.erase(0, end + 1);
      co_return line;
    }
    looked_at = ahead_.size();
    if (looked_at > kLongestLine) {
      stream_->close();
      co_return Error(Code::too_large, "the extension sends a line of more than 1 MiB");
    }
    ahead_.resize(looked_at + kPiece);
    auto got = co_await stream_->read_some(ahead_.data() + looked_at, kPiece);
    ahead_.resize(looked_at + (got ? *got : 0));
    if (!got) co_return std::move(got).error();
    if (*got == 0) co_return Error(Code::unavailable, "the extension has closed the connection");
  }
}

Task<size_t> LineStream::read_some(void* data, size_t size) {
  if (ahead_.empty()) co_return co_await stream_->read_some(data, size);
  const size_t count = std::min(size, ahead_.size());
  std::memcpy(data, ahead_.data(), count);
  ahead_.erase(0, count);
  co_return count;
}

}  // namespace atl::extension
