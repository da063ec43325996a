// Result<T>: a value or an Error, and the two macros that pass errors up.
#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "base/error.h"

namespace atl {

// tl::expected with one liberty: a function that returns Result may `return Error(…)` as it is.
template <typename T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Error error)
      : Base(tl::unexpect, std::move(error)) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace atl

#define ATOLL_CONCAT_(a, b) a##b
#define ATOLL_CONCAT(a, b) ATOLL_CONCAT_(a, b)

#define ATOLL_TRY_(tmp, returns, declaration, ...) \
  auto tmp = __VA_ARGS__;                          \
  if (!tmp) returns std::move(tmp).error();        \
  declaration = std::move(*tmp)

// TRY(auto dir, open_dir(path));  declares dir, or returns the error.
#define TRY(declaration, ...) \
  ATOLL_TRY_(ATOLL_CONCAT(try_, __COUNTER__), return, declaration, __VA_ARGS__)
// TRY_OK(write_file(dir, "cgroup.procs", "0"));
#define TRY_OK(...) \
  if (auto try_ok = __VA_ARGS__; !try_ok) return std::move(try_ok).error()
