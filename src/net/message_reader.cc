#include "net/message_reader.h"

#include <algorithm>
#include <cstring>

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFirstCapacity = 8 * 1024;
// A body is read past the buffer when at least this much can go straight to the caller.
constexpr size_t kDirectRead = 4 * 1024;

}  // namespace

std::optional<TimePoint> Pace::deadline(TimePoint now) const {
  std::optional<TimePoint> earliest = until;
  const auto consider = [&](TimePoint other) {
    if (!earliest || other < *earliest) earliest = other;
  };
  if (silence) consider(now + *silence);
  if (patience) {
    const auto earned =
        std::chrono::milliseconds(bytes_ * 1000 / std::max<size_t>(bytes_per_second, 1));
    consider(now + (*patience + earned - waited_));
  }
  return earliest;
}

void Pace::account(TimePoint::duration spent, size_t bytes) {
  waited_ += spent;
  bytes_ += bytes;
}

void MessageReader::consume(size_t count) {
  begin_ += count;
  if (begin_ == end_ && !filling_) begin_ = end_ = 0;
}

void MessageReader::shrink() {
  if (filling_ || begin_ != end_ || capacity_ <= kFirstCapacity) return;
  data_.reset();
  capacity_ = begin_ = end_ = 0;
}

void MessageReader::make_room() {
  if (end_ < capacity_) return;
  if (begin_ > 0) {
    std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
  } else {
    const size_t bigger = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    auto data = std::make_unique_for_overwrite<char[]>(bigger);
    if (end_ > 0) std::memcpy(data.get(), data_.get(), end_);
    data_ = std::move(data);
    capacity_ = bigger;
  }
  end_ -= begin_;
  begin_ = 0;
}

Task<size_t> MessageReader::fill() {
  make_room();
  filling_ = true;
  const auto got = co_await stream_->read_some(data_.get() + end_, capacity_ - end_);
  filling_ = false;
  if (got) end_ += *got;
  co_return got;
}

Task<size_t> MessageReader::read_body(void* data, size_t size) {
  if (size == 0) co_return 0;
  while (true) {
    CO_TRY(const auto step, body.decode(pending(), static_cast<char*>(data), size));
    consume(step.consumed);
    if (step.produced > 0) co_return step.produced;
    if (body.done()) co_return 0;

    const TimePoint started = Clock::now();
    // The stream watches its deadline only while it waits; a peer that never stops sending does not
    // let it.
    if (pace.until && *pace.until <= started) {
      stream_->close();
      co_return Error(Code::deadline_exceeded, "reading a body: the deadline passed");
    }
    stream_->set_read_deadline(pace.deadline(started));
    const auto direct = static_cast<size_t>(std::min<uint64_t>(body.direct(), size));
    if (direct >= kDirectRead) {
      CO_TRY(const size_t got, co_await stream_->read_some(data, direct));
      pace.account(Clock::now() - started, got);
      if (got == 0) {
        CO_TRY_OK(body.end_of_stream());
        co_return 0;
      }
      body.took(got);
      co_return got;
    }
    CO_TRY(const size_t got, co_await fill());
    pace.account(Clock::now() - started, got);
    if (got == 0) CO_TRY_OK(body.end_of_stream());
  }
}

}  // namespace atl::net
