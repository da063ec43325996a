// AsyncClient: calls to await in a Boost.Asio loop of your own.
//
//   boost::asio::awaitable<void> work(atoll_client::AsyncClient& client) {
//     const auto done = co_await client(atoll_client::calls::run({.argv = {"make"}}));
//   }
//
// The coroutine goes on where it was, on its own executor. Whatever cancels an operation of Asio
// (a cancellation_signal, the || of awaitables) gives up the call. The rest is as in
// atoll/background_client.h: callbacks of a call come from the client's own thread, so post what
// they tell to your loop.
//
// The Boost of these headers is yours; the library's own is hidden in it, so the two never meet.
// Compile coroutines with Clang: GCC 12 miscompiles some.
#pragma once

#include <atoll/background_client.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace atoll_client {

class AsyncClient final {
 public:
  // Throws like Client.
  explicit AsyncClient(const Options& options = {}) : background_(options) {}

  // The client outlives what is awaited.
  template <typename T>
  boost::asio::awaitable<T> operator()(Call<T> call) {
    if constexpr (std::is_void_v<T>) {
      co_await initiate(std::move(call));
    } else {
      auto value = co_await initiate(std::move(call));
      co_return *std::move(value);
    }
  }

 private:
  template <typename T>
  struct Done {
    using Signature = void(std::exception_ptr, std::optional<T>);
  };

  template <typename T>
  auto initiate(Call<T> call) {
    namespace asio = boost::asio;
    const auto begin = [this](auto handler, Call<T> asked) {
      const auto waiting = std::make_shared<decltype(handler)>(std::move(handler));
      // The loop does not end while we are away.
      const auto executor = asio::prefer(asio::get_associated_executor(*waiting),
                                         asio::execution::outstanding_work.tracked);
      const auto done = [waiting, executor](Answer<T> answer) {
        auto resume = [waiting, answer = std::move(answer)]() mutable {
          asio::get_associated_cancellation_slot(*waiting).clear();
          auto waiter = std::move(*waiting);
          if constexpr (std::is_void_v<T>) {
            std::move(waiter)(answer.error);
          } else {
            std::move(waiter)(answer.error, std::move(answer.value));
          }
        };
        asio::post(executor, std::move(resume));
      };
      const Ticket ticket;
      auto slot = asio::get_associated_cancellation_slot(*waiting);
      if (slot.is_connected()) slot.assign([ticket](asio::cancellation_type) { ticket.cancel(); });
      background_.start<T>(asked, done, ticket);
    };
    return asio::async_initiate<const asio::use_awaitable_t<>, typename Done<T>::Signature>(
        begin, asio::use_awaitable, std::move(call));
  }

  BackgroundClient background_;
};

template <>
struct AsyncClient::Done<void> {
  using Signature = void(std::exception_ptr);
};

}  // namespace atoll_client
