#include "base/task.h"

#include <exception>

#include <boost/asio/co_spawn.hpp>

namespace atl {
namespace {

asio::awaitable<void> run(Task<> task, std::function<void(Result<>)> on_done) {
  Result<> result;
  try {
    result = co_await std::move(task);
  } catch (const std::exception& thrown) {
    result = Error(Code::internal, thrown.what());
  }
  if (on_done) on_done(std::move(result));
}

}  // namespace

void spawn(const asio::any_io_executor& executor, Task<> task,
           std::function<void(Result<>)> on_done) {
  asio::co_spawn(executor, run(std::move(task), std::move(on_done)), [](std::exception_ptr) {});
}

}  // namespace atl
