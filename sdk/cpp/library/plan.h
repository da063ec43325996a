// What a call is made of: a coroutine that is begun when somebody takes the call.
#pragma once

#include <atoll/calls.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>

#include "base/task.h"
#include "client/connection.h"

namespace atoll_client {

// For whom a call is made; it outlives the coroutine.
struct Caller {
  atl::client::Connection& connection;
  std::chrono::milliseconds longest_stream;
  std::exception_ptr thrown = {};  // by a callback of the user's
};

enum class Afterwards {
  nothing,
  relay,  // it leaves something behind that needs a loop
};

template <typename T>
struct Call<T>::Plan {
  std::function<atl::Task<T>(Caller& caller)> begin;
  Afterwards afterwards = Afterwards::nothing;
};

template <typename T, typename Begin>
Call<T> make_call(Begin begin, Afterwards afterwards = Afterwards::nothing) {
  using Plan = typename Call<T>::Plan;
  return Call<T>(std::make_shared<const Plan>(Plan{std::move(begin), afterwards}));
}

// Calls what the user gave. What it throws is kept for whoever waits.
template <typename Function>
atl::Result<> call_user(Caller& caller, Function function) {
  try {
    function();
    return {};
  } catch (...) {
    caller.thrown = std::current_exception();
    return atl::Error(atl::Code::cancelled, "a callback threw");
  }
}

// What comes out of a call that failed.
std::exception_ptr to_exception(const Caller& caller, const atl::Error& error,
                                const std::string& request_id);

// Which daemon the options mean.
atl::Result<atl::client::ConnectionOptions> find_daemon(const Options& options);

// Error, as it is thrown.
[[noreturn]] void raise(const atl::Error& error, const std::string& request_id);

}  // namespace atoll_client
