// FrameStream: stdin and stdout of a process in a container, as one stream of bytes, over a
// connection that has left HTTP.
#pragma once

#include <string>
#include <string_view>

#include "container/engine_frames.h"
#include "net/byte_stream.h"

namespace atl::container {

class FrameStream final : public net::ByteStream {
 public:
  explicit FrameStream(net::Released released);

  // What the process, or the engine about it, has said on stderr: its first words, printable.
  std::string complaint() const;

  // The process's stdout. Code::unavailable when it ends within a frame, or the engine has trouble.
  Task<size_t> read_some(void* data, size_t size) override;
  // The process's stdin, as it is.
  Task<> write_pieces(net::Pieces pieces) override;
  Task<> shutdown_write() override;
  void close() override { below_->close(); }
  void cancel() override { below_->cancel(); }
  bool is_open() const override { return below_->is_open(); }
  void set_read_deadline(std::optional<net::TimePoint> deadline) override {
    below_->set_read_deadline(deadline);
  }
  void set_write_deadline(std::optional<net::TimePoint> deadline) override {
    below_->set_write_deadline(deadline);
  }

 private:
  net::StreamPtr below_;
  EngineFrames frames_;
  std::string buffer_;
  std::string_view unread_;  // of the buffer
  std::string complaint_;
};

}  // namespace atl::container
