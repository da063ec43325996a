// SocketStream: a connected TCP or Unix socket as a ByteStream. Only src/net includes this.
//
// A system call is tried before anybody waits, and the deadline timer is armed only when an
// operation really waits; once armed it stays, and looks when it fires whether a deadline has
// passed or has moved on. So a busy connection touches its timer once per timeout, not twice per
// operation.
#pragma once

#include <memory>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/byte_stream.h"

namespace atl::net {

class SocketStream final : public ByteStream {
 public:
  // `socket` is a non-blocking stream socket.
  SocketStream(const asio::any_io_executor& executor, Fd socket, int family);
  ~SocketStream() override;

  Task<size_t> read_some(void* data, size_t size) override;
  Task<> write_pieces(Pieces pieces) override;
  Task<> shutdown_write() override;
  void close() override;
  void cancel() override;
  bool is_open() const override { return socket_.is_open(); }
  void set_read_deadline(std::optional<TimePoint> deadline) override;
  void set_write_deadline(std::optional<TimePoint> deadline) override;
  bool is_quiet() const override;
  int native_handle() const override { return number_; }
  std::optional<PeerCredentials> peer_credentials() const override;

  // Until the socket can be written to, which also is when a connect under way has ended.
  Task<> wait_writable();

 private:
  struct Direction {
    std::optional<TimePoint> deadline;
    bool waits = false;
    bool expired = false;
  };
  class Waiting;

  void arm();
  void look_at_deadlines();
  void set_deadline_of(Direction& direction, std::optional<TimePoint> deadline);
  Result<> check_open(const Direction& direction, std::string_view what) const;
  Error failure(const Direction& direction, int number, std::string_view what) const;

  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  std::optional<TimePoint> armed_for_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // what the timer's handler asks for
  Direction reading_;
  Direction writing_;
  int number_;
  int family_;
  int turns_ = 0;             // operations since this connection last let others run
  bool more_likely_ = false;  // the last read filled its buffer
};

// What a socket call's errno means to the one who waits for the stream.
Error network_error(int number, std::string_view what);

}  // namespace atl::net
