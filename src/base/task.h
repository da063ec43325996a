// Task<T>: a coroutine that gives a Result, and the macros that pass errors up inside one.
//
// Coroutines take parameters by value. `co_await` is a whole statement, an initialiser, the operand
// of co_return or the last argument of CO_TRY; tests/lint/check_coroutines.py holds us to it.
#pragma once

#include <functional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.h"

namespace atl {

namespace asio = boost::asio;

template <typename T = void>
using Task = asio::awaitable<Result<T>>;

// Starts a task that nobody waits for. `on_done` gets its result on the same executor; an escaped
// exception becomes Code::internal. The only place where work is detached: whoever calls it keeps
// what the task uses alive until on_done.
void spawn(const asio::any_io_executor& executor, Task<> task,
           std::function<void(Result<>)> on_done = {});

}  // namespace atl

// CO_TRY(auto box, co_await driver.create(spec));
#define CO_TRY(declaration, ...) \
  ATOLL_TRY_(ATOLL_CONCAT(try_, __COUNTER__), co_return, declaration, __VA_ARGS__)
// CO_TRY_OK(co_await box->destroy());
#define CO_TRY_OK(...) \
  if (auto try_ok = __VA_ARGS__; !try_ok) co_return std::move(try_ok).error()
