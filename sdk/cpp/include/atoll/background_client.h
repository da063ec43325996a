// BackgroundClient: calls that go on while the program does something else, any number at once.
//
//   atoll_client::BackgroundClient client;
//   client.start(calls::run({.argv = {"make"}}), [](Answer<Outcome> answer) { … });
//
// It has one thread of its own, which calls back: the callbacks of a call and `done`, which comes
// exactly once. They should return soon, throw nothing (a call's own callbacks may), and must not
// destroy the client. It may be used from any thread. For Boost.Asio see atoll/async_client.h.
#pragma once

#include <atoll/calls.h>

#include <exception>

namespace atoll_client {

template <typename T>
struct Answer {
  std::exception_ptr error;  // an Error, or what a callback threw; null if there is a value
  std::optional<T> value;
};
template <>
struct Answer<void> {
  std::exception_ptr error;
};

// Lets one call be given up, before it is started or while it is under way.
class Ticket final {
 public:
  Ticket();
  // The answer is then an Error "cancelled", unless it came first. From any thread.
  void cancel() const;

 private:
  friend class BackgroundClient;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

class BackgroundClient final {
 public:
  // Throws like Client.
  explicit BackgroundClient(const Options& options = {});
  // Gives up what is under way, and waits until every `done` has been called.
  ~BackgroundClient();
  BackgroundClient(const BackgroundClient&) = delete;
  BackgroundClient& operator=(const BackgroundClient&) = delete;

  template <typename T>
  void start(const Call<T>& call, std::function<void(Answer<T> answer)> done,
             const Ticket& ticket = Ticket());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace atoll_client
