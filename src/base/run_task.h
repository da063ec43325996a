// Runs one task to its end on a loop of the caller's: for tests and for programs that do one thing.
#pragma once

#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/task.h"

namespace atl {
namespace detail {

template <typename T>
struct Kept {
  std::optional<Result<T>> result;
  bool ended = false;
};

template <typename T>
Task<> keep_result(Task<T> task, std::shared_ptr<Kept<T>> kept) {
  auto result = co_await std::move(task);
  kept->result.emplace(std::move(result));
  co_return Result<>();
}

}  // namespace detail

// Other work on the loop goes on meanwhile, and stays where it is afterwards. A task that can no
// longer end, because nothing is left that could wake it, gives Code::internal.
template <typename T>
Result<T> run_task(asio::io_context& loop, Task<T> task) {
  const auto kept = std::make_shared<detail::Kept<T>>();
  spawn(loop.get_executor(), detail::keep_result(std::move(task), kept), [kept](Result<> done) {
    if (!done) kept->result.emplace(std::move(done).error());  // an exception escaped
    kept->ended = true;
  });
  loop.restart();
  while (!kept->ended && loop.run_one() != 0) {
  }
  if (kept->result) return *std::move(kept->result);
  return Error(Code::internal, "the task can never end: nothing is left that could wake it");
}

}  // namespace atl
