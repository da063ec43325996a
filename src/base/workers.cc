#include "base/workers.h"

#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/thread_pool.hpp>

namespace atl {

struct Workers::Pool {
  explicit Pool(size_t count) : threads(count) {}
  asio::thread_pool threads;
};

Workers::Workers(asio::any_io_executor executor, size_t threads)
    : executor_(std::move(executor)), threads_(threads) {}

Workers::~Workers() { stop(); }

void Workers::stop() {
  *stopping_ = true;
  if (pool_) pool_->threads.join();
}

void Workers::later(std::function<void()> work) {
  if (*stopping_) return;
  if (!pool_) pool_ = std::make_unique<Pool>(threads_);
  asio::post(pool_->threads, std::move(work));
}

asio::any_io_executor Workers::busy() const {
  return asio::prefer(executor_, asio::execution::outstanding_work.tracked);
}

void Workers::post(const asio::any_io_executor& executor, std::function<void()> work) {
  asio::post(executor, std::move(work));
}

}  // namespace atl
