// EngineLine: the way to an engine: where it is, which version of its API both speak, and what is
// wrong when it does not answer.
//
// Every call has a deadline. Errors say what is wrong with the engine and what helps: it is not
// there, may not be used by this user, does not answer, broke off. Code::unavailable means that
// nobody knows whether the call came about. Lives on the core loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/task.h"
#include "container/dialect.h"
#include "container/engine_address.h"
#include "driver/give_up.h"
#include "json/value.h"
#include "net/http_client.h"

namespace atl::container {

// patient: as long as the size of what is asked for takes.
enum class Pace : uint8_t { quick, slow, patient };

// The most that an answer of each pace may take.
struct Paces {
  Millis quick{5'000};
  Millis slow{60'000};
  Millis patient{600'000};
};

// Podman's own API has calls that the Engine API lacks.
enum class Api : uint8_t { engine, libpod };

// A call that takes its time, and tells of it line by line.
struct Followed {
  std::string path;
  net::Headers headers = {};
  // What is sent, piece by piece; the empty one is its end.
  std::function<Task<std::string>()> next_piece = {};
  std::function<void(const json::Value& line)> on_line = {};
  std::shared_ptr<GiveUp> give_up = nullptr;  // ends it with Code::cancelled
  Millis silence{60'000};                     // most time without a word
  Millis total{600'000};
  Api api = Api::engine;
};

class EngineLine final {
 public:
  EngineLine(const asio::any_io_executor& executor, const Dialect& dialect, EngineAddress address,
             Paces paces = {});

  const EngineAddress& address() const { return address_; }
  const Dialect& dialect() const { return dialect_; }

  // Whether it answers, and which version of the API both speak. Code::unsupported when it is too
  // old, or so new that it does not speak ours any more.
  Task<> greet();
  // The body as JSON, or the error that an answer tells.
  Task<json::Value> ask(net::Method method, std::string path, std::string body, Pace pace,
                        Api api = Api::engine);
  // POST. Code::deadline_exceeded as it is; what the engine tells as an error is Code::internal, or
  // Code::out_of_space.
  Task<> follow(Followed followed);
  // For an answer that streams; the target is without the version.
  Task<std::unique_ptr<net::ClientCall>> open(net::ClientRequest request,
                                              net::RequestBody body = {}, Api api = Api::engine);
  // "1.41"; "" = not greeted yet.
  std::string version() const { return version_.empty() ? "" : version_.substr(2); }
  Error told_error(const net::Response& response) const;

 private:
  Task<net::Response> send(net::Method method, std::string path, std::string body, Pace pace);
  Task<net::Response> send_versioned(net::Method method, std::string path, std::string body,
                                     Pace pace, Api api);
  Task<> follow_to_end(Followed followed);
  Task<> check_still_speaks_ours(std::string newest);
  Millis patience(Pace pace) const;
  Error full_disk(const std::string& told) const;
  Error transport_error(const Error& error, Pace pace) const;

  const Dialect& dialect_;
  EngineAddress address_;
  Paces paces_;
  net::HttpClient http_;
  std::string version_;  // "/v1.41"; "" = not greeted yet
};

}  // namespace atl::container
