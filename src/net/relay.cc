#include "net/relay.h"

#include <boost/asio/this_coro.hpp>

#include "net/event.h"

namespace atl::net {
namespace {

constexpr size_t kPiece = 64 * 1024;

struct Pair {
  Pair(const asio::any_io_executor& executor, StreamPtr one, StreamPtr other)
      : left(std::move(one)), right(std::move(other)), over(executor) {}

  // Either end gone means that neither can go on.
  void close() const {
    left->close();
    right->close();
  }

  StreamPtr left, right;
  Event over;  // of one direction
};

Task<> copy(std::shared_ptr<Pair> pair, ByteStream& from, ByteStream& to, std::string bytes) {
  for (;;) {
    CO_TRY_OK(co_await to.write_all(bytes));
    bytes.resize(kPiece);
    CO_TRY(const size_t got, co_await from.read_some(bytes.data(), bytes.size()));
    if (got == 0) co_return co_await to.shutdown_write();
    bytes.resize(got);
  }
}

}  // namespace

Task<> relay(StreamPtr left, StreamPtr right, std::string first) {
  const auto executor = co_await asio::this_coro::executor;
  const auto pair = std::make_shared<Pair>(executor, std::move(left), std::move(right));
  spawn(executor, copy(pair, *pair->left, *pair->right, ""), [pair](Result<> done) {
    if (!done) pair->close();
    pair->over.set();
  });
  auto copied = co_await copy(pair, *pair->right, *pair->left, std::move(first));
  if (!copied) pair->close();
  co_await pair->over.wait();
  pair->close();
  co_return copied;
}

}  // namespace atl::net
