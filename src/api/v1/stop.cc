#include "api/v1/stop.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace atl::api::v1 {

struct Stop::Signal {
  asio::cancellation_signal cancel;
};

Stop::Stop() : signal_(std::make_unique<Signal>()) {}
Stop::~Stop() = default;

void Stop::stop() {
  stopped_ = true;
  signal_->cancel.emit(asio::cancellation_type::terminal);
}

Task<> run_until(std::shared_ptr<Stop> stop, Task<> work) {
  if (!stop->stopped()) {
    const auto executor = co_await asio::this_coro::executor;
    try {
      auto result = co_await asio::co_spawn(
          executor, std::move(work),
          asio::bind_cancellation_slot(stop->signal_->cancel.slot(), asio::use_awaitable));
      co_return result;
    } catch (const boost::system::system_error&) {
      // A wait inside was cut short, which is how Asio tells it.
    }
  }
  co_return Error(Code::cancelled, "the client went away");
}

}  // namespace atl::api::v1
