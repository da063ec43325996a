// ByteStream: one ordered stream of bytes in both directions (TCP, Unix socket, TLS, memory),
// behind one virtual type so that nothing above is compiled once per transport.
//
// Used on one thread: the executor's. At most one read and one write may be under way at a time,
// and the stream must outlive both; close() ends them, so close, let them return, then destroy.
//
// Errors: Code::deadline_exceeded when a deadline passed (the stream is then closed),
// Code::cancelled when somebody here called close() or cancel(), Code::unavailable for what the
// peer or the network did (reset, broken pipe).
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/task.h"

namespace atl::net {

using TimePoint = std::chrono::steady_clock::time_point;

// Who is at the other end of a Unix socket, as the kernel saw it when it connected.
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

// What is written in one system call where the transport can: head, body, tail. Empty ones are
// skipped.
using Pieces = std::array<std::string_view, 3>;

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Waits for at least one byte and gives what is there; 0 is the orderly end (or size was 0).
  virtual Task<size_t> read_some(void* data, size_t size) = 0;

  // Returns when everything was taken by the transport. The caller keeps the bytes alive until
  // then.
  virtual Task<> write_pieces(Pieces pieces) = 0;
  Task<> write_all(const void* data, size_t size) {
    return write_pieces({std::string_view(static_cast<const char*>(data), size), {}, {}});
  }
  Task<> write_all(std::string_view bytes) {  // awaited at once
    return write_pieces({bytes, {}, {}});
  }

  // Says "no more from me"; reading goes on.
  virtual Task<> shutdown_write() = 0;

  // Ends everything at once; pending operations return Code::cancelled. May be called twice.
  virtual void close() = 0;
  // Ends pending operations with Code::cancelled and leaves the stream open. Bytes that a
  // cancelled write had already sent stay sent, so go on writing only if none was pending.
  virtual void cancel() = 0;
  virtual bool is_open() const = 0;

  // A deadline holds for every operation of its direction, pending ones too, until it is changed;
  // nullopt is none. When one passes during an operation, that operation fails with
  // Code::deadline_exceeded and the stream is closed.
  virtual void set_read_deadline(std::optional<TimePoint> deadline) = 0;
  virtual void set_write_deadline(std::optional<TimePoint> deadline) = 0;
  void set_deadline(std::optional<TimePoint> deadline) {
    set_read_deadline(deadline);
    set_write_deadline(deadline);
  }

  // True while the peer has sent nothing that was not read, its end included: what a pooled
  // connection must be. Looks without waiting; a transport that cannot look says whether it is
  // open.
  virtual bool is_quiet() const { return is_open(); }

  // The socket below, or -1. Reading or writing it directly breaks the stream.
  virtual int native_handle() const { return -1; }
  virtual std::optional<PeerCredentials> peer_credentials() const { return std::nullopt; }
};

using StreamPtr = std::unique_ptr<ByteStream>;

// A stream that leaves the protocol spoken on it so far, with what the peer had already sent of
// the next one.
struct Released {
  StreamPtr stream;
  std::string already_read;
};

// Takes over a connected TCP or Unix stream socket; makes it non-blocking and sets TCP_NODELAY on
// TCP.
Result<StreamPtr> adopt_socket(const asio::any_io_executor& executor, Fd socket);

// Two connected streams (a Unix socketpair), for tests and for parts of one process that talk in
// bytes.
Result<std::pair<StreamPtr, StreamPtr>> make_stream_pair(const asio::any_io_executor& executor);

}  // namespace atl::net
