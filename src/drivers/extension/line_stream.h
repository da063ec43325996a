// LineStream: lines of at most 1 MiB off a connection to an extension, and then, once it has
// answered `open`, the bytes of a sandbox's agent.
//
// A ByteStream that carries no descriptors: between us and the agent stands another program.
#pragma once

#include <string>

#include "net/byte_stream.h"

namespace atl::extension {

class LineStream final : public net::ByteStream {
 public:
  explicit LineStream(net::StreamPtr stream) : stream_(std::move(stream)) {}

  // Without its newline. Code::unavailable when the other side ends instead, Code::too_large for a
  // line without an end; the connection is then of no use.
  Task<std::string> read_line();

  // What follows the last line that was read.
  Task<size_t> read_some(void* data, size_t size) override;
  Task<> write_pieces(net::Pieces pieces) override { return stream_->write_pieces(pieces); }
  Task<> shutdown_write() override { return stream_->shutdown_write(); }
  void close() override { stream_->close(); }
  void cancel() override { stream_->cancel(); }
  bool is_open() const override { return stream_->is_open(); }
  void set_read_deadline(std::optional<net::TimePoint> deadline) override {
    stream_->set_read_deadline(deadline);
  }
  void set_write_deadline(std::optional<net::TimePoint> deadline) override {
    stream_->set_write_deadline(deadline);
  }
  std::optional<net::PeerCredentials> peer_credentials() const override {
    return stream_->peer_credentials();
  }

 private:
  net::StreamPtr stream_;
  std::string ahead_;  // read, and not asked for yet
};

}  // namespace atl::extension
