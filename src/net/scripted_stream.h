// ScriptedStream: a ByteStream that reads from a given text and keeps what is written. For tests
// and fuzzing.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "net/byte_stream.h"

namespace atl::net {

class ScriptedStream final : public ByteStream {
 public:
  // Reads give at most `step` bytes at a time. What is written goes to `*written`, which must
  // outlive the stream.
  ScriptedStream(std::string script, size_t step, std::string* written)
      : script_(std::move(script)), step_(std::max<size_t>(step, 1)), written_(written) {}

  Task<size_t> read_some(void* data, size_t size) override {
    if (!open_) co_return Error(Code::cancelled, "reading: closed");
    const size_t count = std::min({size, step_, script_.size() - at_});
    std::memcpy(data, script_.data() + at_, count);
    at_ += count;
    co_return count;
  }

  Task<> write_pieces(Pieces pieces) override {
    if (!open_) co_return Error(Code::cancelled, "writing: closed");
    for (const std::string_view piece : pieces) written_->append(piece);
    co_return Result<>();
  }

  Task<> shutdown_write() override { co_return Result<>(); }
  void close() override { open_ = false; }
  void cancel() override {}
  bool is_open() const override { return open_; }
  void set_read_deadline(std::optional<TimePoint>) override {}
  void set_write_deadline(std::optional<TimePoint>) override {}

 private:
  std::string script_;
  size_t at_ = 0;
  size_t step_;
  std::string* written_;
  bool open_ = true;
};

}  // namespace atl::net
