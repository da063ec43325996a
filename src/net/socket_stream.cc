#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/socket_stream_internal.h"

namespace atl::net {
namespace {

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

// After this many operations that did not have to wait, a connection lets the others run.
constexpr int kTurns = 64;

int value_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, option, &value, &size) != 0) return -1;
  return value;
}

}  // namespace

Error network_error(int number, std::string_view what) {
  Code code = Code::unavailable;
  if (number == ECANCELED || number == EBADF) code = Code::cancelled;
  if (number == ENOENT) code = Code::not_found;
  if (number == EACCES || number == EPERM) code = Code::permission_denied;
  if (number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM) {
    code = Code::resource_exhausted;
  }
  return Error(code, fmt::format("{}: {}", what, std::strerror(number)), number);
}

// Marks a direction as waiting for as long as it lives, cancellation by exception included.
class SocketStream::Waiting final {
 public:
  Waiting(SocketStream& stream, Direction& direction) : stream_(stream), direction_(direction) {
    direction_.waits = true;
    stream_.turns_ = 0;
    stream_.arm();
  }
  ~Waiting() { direction_.waits = false; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  SocketStream& stream_;
  Direction& direction_;
};

SocketStream::SocketStream(const asio::any_io_executor& executor, Fd socket, int family)
    : socket_(executor), timer_(executor), number_(socket.get()), family_(family) {
  boost::system::error_code failed;
  socket_.assign(socket.get(), failed);
  if (failed) {
    number_ = -1;
    return;
  }
  (void)socket.release();
  socket_.native_non_blocking(true, failed);
}

SocketStream::~SocketStream() { close(); }

Result<> SocketStream::check_open(const Direction& direction, std::string_view what) const {
  if (socket_.is_open()) return {};
  return failure(direction, ECANCELED, what);
}

Error SocketStream::failure(const Direction& direction, int number, std::string_view what) const {
  if (direction.expired) {
    return Error(Code::deadline_exceeded, fmt::format("{}: the deadline passed", what), ETIMEDOUT);
  }
  return network_error(number, what);
}

Task<size_t> SocketStream::read_some(void* data, size_t size) {
  if (size == 0) co_return 0;
  CO_TRY_OK(check_open(reading_, "reading"));
  if (more_likely_ && turns_ < kTurns) {
    ++turns_;
    const ssize_t got = ::recv(number_, data, size, MSG_DONTWAIT);
    if (got >= 0) {
      more_likely_ = static_cast<size_t>(got) == size;
      co_return static_cast<size_t>(got);
    }
    if (errno != EAGAIN && errno != EINTR) co_return failure(reading_, errno, "reading");
  }
  const Waiting waiting(*this, reading_);
  const auto [failed, got] = co_await socket_.async_read_some(asio::buffer(data, size), kUseTuple);
  if (failed == asio::error::eof) co_return 0;
  if (failed) co_return failure(reading_, failed.value(), "reading");
  more_likely_ = got == size;
  co_return got;
}

Task<> SocketStream::write_pieces(Pieces pieces) {
  std::array<iovec, std::tuple_size_v<Pieces>> vectors;
  size_t count = 0;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  iovec* next = vectors.data();
  iovec* const end = vectors.data() + count;
  while (next != end) {
    CO_TRY_OK(check_open(writing_, "writing"));
    msghdr message{};
    message.msg_iov = next;
    message.msg_iovlen = static_cast<size_t>(end - next);
    const ssize_t sent = ::sendmsg(number_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) co_return failure(writing_, errno, "writing");
      CO_TRY_OK(co_await wait_writable());
      continue;
    }
    size_t taken = static_cast<size_t>(sent);
    while (next != end && taken >= next->iov_len) taken -= next++->iov_len;
    if (next != end) {
      next->iov_base = static_cast<char*>(next->iov_base) + taken;
      next->iov_len -= taken;
    }
    if (++turns_ >= kTurns) {
      turns_ = 0;
      co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    }
  }
  co_return Result<>();
}

Task<> SocketStream::wait_writable() {
  const Waiting waiting(*this, writing_);
  const auto [failed] =
      co_await socket_.async_wait(asio::posix::stream_descriptor::wait_write, kUseTuple);
  if (failed) co_return failure(writing_, failed.value(), "writing");
  co_return Result<>();
}

Task<> SocketStream::shutdown_write() {
  CO_TRY_OK(check_open(writing_, "shutting down"));
  if (::shutdown(number_, SHUT_WR) != 0 && errno != ENOTCONN) {
    co_return failure(writing_, errno, "shutting down");
  }
  co_return Result<>();
}

void SocketStream::close() {
  if (!socket_.is_open()) return;
  boost::system::error_code ignored;
  socket_.close(ignored);
  number_ = -1;
  timer_.cancel();
  armed_for_.reset();
}

void SocketStream::cancel() {
  boost::system::error_code ignored;
  if (socket_.is_open()) socket_.cancel(ignored);
}

void SocketStream::set_read_deadline(std::optional<TimePoint> deadline) {
  set_deadline_of(reading_, deadline);
}

void SocketStream::set_write_deadline(std::optional<TimePoint> deadline) {
  set_deadline_of(writing_, deadline);
}

void SocketStream::set_deadline_of(Direction& direction, std::optional<TimePoint> deadline) {
  direction.deadline = deadline;
  if (direction.waits) arm();
}

void SocketStream::arm() {
  std::optional<TimePoint> earliest;
  for (const Direction* direction : {&reading_, &writing_}) {
    if (!direction->waits || !direction->deadline) continue;
    if (!earliest || *direction->deadline < *earliest) earliest = direction->deadline;
  }
  if (!earliest || !socket_.is_open() || (armed_for_ && *armed_for_ <= *earliest)) return;
  armed_for_ = earliest;
  timer_.expires_at(*earliest);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code failed) {
    if (!failed && !alive.expired()) look_at_deadlines();
  });
}

void SocketStream::look_at_deadlines() {
  // An expiry that was moved while this call was already queued: the later call does the work.
  const TimePoint now = std::chrono::steady_clock::now();
  if (armed_for_ && *armed_for_ > now) return;
  armed_for_.reset();
  bool expired = false;
  for (Direction* direction : {&reading_, &writing_}) {
    if (!direction->waits || !direction->deadline || *direction->deadline > now) continue;
    direction->expired = true;
    expired = true;
  }
  if (expired) {
    close();
  } else {
    arm();
  }
}

bool SocketStream::is_quiet() const {
  if (!socket_.is_open()) return false;
  char byte;
  return ::recv(number_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

std::optional<PeerCredentials> SocketStream::peer_credentials() const {
  if (family_ != AF_UNIX || number_ < 0) return std::nullopt;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(number_, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

Result<StreamPtr> adopt_socket(const asio::any_io_executor& executor, Fd socket) {
  if (value_of(socket.get(), SO_TYPE) != SOCK_STREAM) {
    return Error(Code::invalid_argument, "adopting a socket: it is no stream socket");
  }
  const int family = value_of(socket.get(), SO_DOMAIN);
  if (family == AF_INET || family == AF_INET6) {
    const int on = 1;
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  auto stream = std::make_unique<SocketStream>(executor, std::move(socket), family);
  if (!stream->is_open()) return Error(Code::internal, "adopting a socket: it cannot be polled");
  return StreamPtr(std::move(stream));
}

Result<std::pair<StreamPtr, StreamPtr>> make_stream_pair(const asio::any_io_executor& executor) {
  int numbers[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, numbers) != 0) {
    return os_error("making a socket pair");
  }
  Fd first(numbers[0]);
  Fd second(numbers[1]);
  TRY(auto left, adopt_socket(executor, std::move(first)));
  TRY(auto right, adopt_socket(executor, std::move(second)));
  return std::pair(std::move(left), std::move(right));
}

}  // namespace atl::net
