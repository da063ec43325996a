// MessageReader: the buffer between a ByteStream and the HTTP parser, for either side. Only src/net
// includes this.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "net/byte_stream.h"
#include "net/http_parse.h"

namespace atl::net {

// How long a body may make its reader wait. Only time spent waiting counts, not the time that the
// reader was busy.
struct Pace {
  std::optional<TimePoint> until;                    // whatever happens
  std::optional<std::chrono::milliseconds> silence;  // for the next byte
  // In all, plus a second for every `bytes_per_second` that came.
  std::optional<std::chrono::milliseconds> patience;
  size_t bytes_per_second = 1;

  std::optional<TimePoint> deadline(TimePoint now) const;
  void account(TimePoint::duration spent, size_t bytes);

 private:
  TimePoint::duration waited_{};
  uint64_t bytes_ = 0;
};

class MessageReader final {
 public:
  explicit MessageReader(ByteStream& stream) : stream_(&stream) {}

  // What was read and not yet consumed.
  std::string_view pending() const { return {data_.get() + begin_, end_ - begin_}; }
  void consume(size_t count);
  // Reads once more into the buffer; 0 is the end of the stream. One at a time: while it waits the
  // buffer stays where it is, and what is pending may be looked at and consumed.
  Task<size_t> fill();
  // Gives back a buffer that a big head made big, unless something is being read into it.
  void shrink();

  BodyDecoder body;
  Pace pace;
  // The next bytes of the body; 0 is its end.
  Task<size_t> read_body(void* data, size_t size);

 private:
  void make_room();

  ByteStream* stream_;
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool filling_ = false;  // the stream holds a pointer to the place behind end_
};

}  // namespace atl::net
