// TestWorld: an event loop for tests, and the handler that the HTTP tests talk to.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "net/http_server.h"

namespace atl::net {

using std::chrono::milliseconds;

inline TimePoint after(milliseconds time) { return std::chrono::steady_clock::now() + time; }

template <typename T>
asio::awaitable<void> store_result(Task<T> task, std::optional<Result<T>>* into) {
  auto result = co_await std::move(task);
  into->emplace(std::move(result));
}

// A directory that goes with its test.
class TempDir final {
 public:
  TempDir() {
    char name[] = "/tmp/atoll-net-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

class TestWorld {
 public:
  asio::io_context io{1};

  // Runs the loop until the task is done; a test that hangs fails instead.
  template <typename T>
  Result<T> await(Task<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io, store_result(std::move(task), &result), [](std::exception_ptr) {});
    run_until([&] { return result.has_value(); });
    if (!result) return Error(Code::internal, "the test hangs");
    return std::move(*result);
  }

  template <typename Condition>
  bool run_until(Condition condition) {
    const TimePoint limit = after(milliseconds(20'000));
    io.restart();
    while (!condition()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      if (io.run_one_for(milliseconds(1'000)) == 0 && io.stopped()) io.restart();
    }
    return true;
  }

  std::pair<StreamPtr, StreamPtr> pair() {
    auto made = make_stream_pair(io.get_executor());
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
  }
};

// Reads until the peer ends; gives what came, also when it was cut off.
inline Task<std::string> read_to_end(ByteStream* stream) {
  std::string all;
  char buffer[16 * 1024];
  while (true) {
    const auto got = co_await stream->read_some(buffer, sizeof buffer);
    if (!got || *got == 0) break;
    all.append(buffer, *got);
  }
  co_return all;
}

// Reads until `mark` was seen.
inline Task<std::string> read_until(ByteStream* stream, std::string mark) {
  std::string all;
  char byte;
  while (!all.ends_with(mark)) {
    CO_TRY(const size_t got, co_await stream->read_some(&byte, 1));
    if (got == 0) co_return Error(Code::unavailable, "ended after: " + all);
    all += byte;
  }
  co_return all;
}

inline Task<std::string> say_and_read_to_end(ByteStream* stream, std::string bytes) {
  const auto sent = co_await stream->write_all(bytes);
  const auto ended = co_await stream->shutdown_write();
  (void)sent;
  (void)ended;
  co_return co_await read_to_end(stream);
}

// One behaviour per path, so that a test reads as a conversation.
class TestHandler final : public Handler {
 public:
  asio::awaitable<void> handle(Exchange& exchange) override;

  int calls = 0;
  bool saw_closed = false;
  bool hook_ran = false;
  std::optional<Code> body_error;
  std::optional<Code> write_error;
  std::optional<PeerCredentials> credentials;
  std::function<void()> on_wait;  // called when /wait has begun
};

}  // namespace atl::net
