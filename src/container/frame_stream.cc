#include "container/frame_stream.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace atl::container {
namespace {

constexpr size_t kReadAtOnce = 64 * 1024;
constexpr size_t kLongestComplaint = 512;

}  // namespace

FrameStream::FrameStream(net::Released released)
    : below_(std::move(released.stream)), buffer_(std::move(released.already_read)) {
  buffer_.reserve(std::max(buffer_.size(), kReadAtOnce));
  unread_ = buffer_;
}

std::string FrameStream::complaint() const { return to_printable(complaint_); }

Task<size_t> FrameStream::read_some(void* data, size_t size) {
  while (size > 0) {
    CO_TRY(const auto piece, frames_.next(unread_, size));
    if (piece && piece->stream == EngineStream::output) {
      std::memcpy(data, piece->bytes.data(), piece->bytes.size());
      co_return piece->bytes.size();
    }
    if (piece) {
      const size_t room = kLongestComplaint - complaint_.size();
      complaint_.append(piece->bytes.substr(0, room));
      if (piece->stream == EngineStream::trouble)
        co_return Error(Code::unavailable, "the engine has trouble: " + complaint());
      continue;
    }
    buffer_.resize(kReadAtOnce);
    auto got = co_await below_->read_some(buffer_.data(), buffer_.size());
    unread_ = std::string_view(buffer_).substr(0, got.value_or(0));
    if (!got) co_return std::move(got).error();
    if (*got == 0 && !frames_.is_whole())
      co_return Error(Code::unavailable, "the engine broke off within a frame");
    if (*got == 0) break;
  }
  co_return 0;
}

Task<> FrameStream::write_pieces(net::Pieces pieces) { return below_->write_pieces(pieces); }

Task<> FrameStream::shutdown_write() { return below_->shutdown_write(); }

}  // namespace atl::container
