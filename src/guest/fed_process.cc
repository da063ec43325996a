#include "guest/fed_process.h"

#include <unistd.h>

#include <cerrno>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace atl::guest {
namespace {

using Input = std::shared_ptr<asio::posix::stream_descriptor>;

// Until the input or the process is gone.
Task<> feed(std::shared_ptr<Process> process, Input input) {
  std::string bytes(64 * 1024, '\0');
  while (input->is_open()) {
    boost::system::error_code failure;
    co_await input->async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::redirect_error(asio::use_awaitable, failure));
    // A file is always ready, and there is nothing to wait for.
    if (failure && failure != asio::error::operation_not_supported) co_return Result<>();
    if (!input->is_open()) co_return Result<>();
    const ssize_t got = read(input->native_handle(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) co_return co_await process->close_stdin();
    CO_TRY_OK(co_await process->write_stdin(bytes.substr(0, static_cast<size_t>(got))));
  }
  co_return Result<>();
}

class FedProcess final : public Process {
 public:
  FedProcess(std::shared_ptr<Process> process, Input input)
      : process_(std::move(process)), input_(std::move(input)) {}
  ~FedProcess() override {
    boost::system::error_code ignored;
    input_->close(ignored);
  }

  ProcessId id() const override { return process_->id(); }
  int pid() const override { return process_->pid(); }
  Task<ProcessEvent> next() override { return process_->next(); }
  void interrupt() override { process_->interrupt(); }
  Task<> write_stdin(std::string bytes) override { return process_->write_stdin(std::move(bytes)); }
  Task<> close_stdin() override { return process_->close_stdin(); }

 private:
  std::shared_ptr<Process> process_;
  Input input_;
};

}  // namespace

std::unique_ptr<Process> feed_process(const asio::any_io_executor& executor,
                                      std::unique_ptr<Process> process, Fd input) {
  const std::shared_ptr<Process> fed = std::move(process);
  auto source = std::make_shared<asio::posix::stream_descriptor>(executor, input.release());
  spawn(executor, feed(fed, source));
  return std::make_unique<FedProcess>(fed, std::move(source));
}

}  // namespace atl::guest
