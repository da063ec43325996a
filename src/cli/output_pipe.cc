#include "cli/output_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "cli/report.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr std::string_view kStage = "output";
constexpr int kPipeBytes = 1 << 20;

Error closed_output() {
  return Error(Code::invalid_argument, "the output has nowhere to go: stdout is closed", EBADF)
      .with_hint("to throw it away write >/dev/null");
}

Error write_error() {
  if (errno == EPIPE) return output_gone();
  if (errno == EBADF) return closed_output();
  return os_error("writing the output");
}

}  // namespace

struct OutputPipe::Impl {
  Impl(const asio::any_io_executor& executor, int fd) : number(fd), reopened(executor) {}

  int number;
  asio::posix::stream_descriptor reopened;
};

Result<Fd> open_stdin() {
  struct stat info{};
  if (fstat(STDIN_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || isatty(STDIN_FILENO) == 1)) {
    auto again = os::open_at(AT_FDCWD, "/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (again) return again;
  }
  Fd copy(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (copy) return copy;
  if (errno != EBADF) return os_error("passing on stdin");
  return os::open_at(AT_FDCWD, "/dev/null", O_RDONLY);  // ours is closed
}

OutputPipe::OutputPipe(asio::any_io_executor executor, int number)
    : impl_(std::make_unique<Impl>(executor, number)) {
  struct stat info{};
  if (fstat(number, &info) != 0 || !(S_ISFIFO(info.st_mode) || isatty(number) == 1)) return;
  if (S_ISFIFO(info.st_mode)) fcntl(number, F_SETPIPE_SZ, kPipeBytes);
  const std::string path = "/proc/self/fd/" + std::to_string(number);
  auto again = os::open_at(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (!again) return;
  boost::system::error_code failure;
  impl_->reopened.assign(again->get(), failure);
  if (!failure) static_cast<void>(again->release());
}

OutputPipe::~OutputPipe() = default;

struct ReaderWatch::Impl {
  explicit Impl(const asio::any_io_executor& executor) : pipe(executor) {}

  asio::posix::stream_descriptor pipe;
  std::function<void()> on_gone;
  bool gone = false;
};

ReaderWatch::ReaderWatch(asio::any_io_executor executor, std::function<void()> on_gone)
    : impl_(std::make_shared<Impl>(executor)) {
  struct stat info{};
  if (fstat(STDOUT_FILENO, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
  auto again = os::open_at(AT_FDCWD, "/proc/self/fd/1", O_WRONLY | O_NONBLOCK);
  if (!again) return;
  boost::system::error_code failure;
  impl_->pipe.assign(again->get(), failure);
  if (failure) return;
  static_cast<void>(again->release());
  impl_->on_gone = std::move(on_gone);
  impl_->pipe.async_wait(asio::posix::stream_descriptor::wait_error,
                         [impl = impl_](const boost::system::error_code& stopped) {
                           if (stopped) return;
                           impl->gone = true;
                           impl->on_gone();
                         });
}

ReaderWatch::~ReaderWatch() {
  boost::system::error_code ignored;
  impl_->pipe.close(ignored);
}

ReaderWatch leave_when_unread(asio::any_io_executor executor) {
  return ReaderWatch(std::move(executor), [] { _exit(kExitOutputGone); });
}

bool ReaderWatch::is_gone() const { return impl_->gone; }

Task<> OutputPipe::write(std::string_view bytes) {
  const int fd = impl_->reopened.is_open() ? impl_->reopened.native_handle() : impl_->number;
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !impl_->reopened.is_open()) co_return write_error();
    boost::system::error_code failure;
    co_await impl_->reopened.async_wait(asio::posix::stream_descriptor::wait_write,
                                        asio::redirect_error(asio::use_awaitable, failure));
    if (failure) co_return os_error_from(failure.value(), "waiting for the output");
  }
  co_return Result<>();
}

Error output_gone() {
  return Error(Code::cancelled, "nobody reads the output any more", EPIPE).at_stage(kStage);
}

bool is_output_gone(const Error& error) {
  return error.stage() == kStage && error.os_errno() == EPIPE;
}

Result<> print(std::string_view text) {
  auto written = os::write_all(STDOUT_FILENO, text);
  if (written) return {};
  if (written.error().os_errno() == EPIPE) return output_gone();
  if (written.error().os_errno() == EBADF) return closed_output();
  return std::move(written).error().with("the output");
}

}  // namespace atl::cli
