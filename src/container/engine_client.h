// EngineClient: the calls of the Docker Engine API that sandboxes need, over a Unix socket.
//
// Every call has a deadline. Errors say what is wrong with the engine and what helps: it is not
// there, may not be used by this user, does not answer, broke off. Code::unavailable means that
// nobody knows whether the call came about. Lives on the core loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "container/dialect.h"
#include "json/value.h"
#include "net/http_client.h"

namespace atl::container {

struct ContainerState {
  bool is_running = false;
  bool is_paused = false;
  int32_t pid = 0;  // of its first process, in the engine's pid namespace
  int64_t exit_code = 0;
  // The limits that hold, which are not always those that were asked for.
  int64_t memory_bytes = 0;
  int64_t pids = 0;
  std::string instance, driver, sandbox_id, generation;  // labels; "" = none
};

class EngineClient final {
 public:
  // `socket` is a path.
  EngineClient(asio::any_io_executor executor, const Dialect& dialect, std::string socket);

  const std::string& socket() const { return socket_; }

  // Whether it answers, and which version of the API both speak. Code::unsupported when it is too
  // old.
  Task<> greet();
  // The paths that an image declares as volumes. Code::not_found when the engine does not have it.
  Task<std::vector<std::string>> image_volumes(std::string image);
  // Code::already_exists when the name is taken.
  Task<> create(std::string name, std::string body);
  Task<> start(std::string name);
  // Code::not_found when there is none.
  Task<ContainerState> inspect(std::string name);
  Task<> pause(std::string name);
  Task<> resume(std::string name);
  Task<> update(std::string name, std::string body);
  // Ends it if need be, and returns once it is gone; one that is not there is.
  Task<> remove(std::string name);
  // The sandbox ids of all containers that bear these labels ("name=value").
  Task<std::vector<std::string>> list(std::vector<std::string> labels);
  // Until it has ended: its exit code. Has no deadline but close().
  Task<int64_t> wait(std::string name);

  // Ends every wait with Code::cancelled, now and later.
  void close();

 private:
  enum class Pace : uint8_t { quick, slow };

  Task<net::Response> send(net::Method method, std::string path, std::string body, Pace pace);
  Task<net::Response> send_versioned(net::Method method, std::string path, std::string body,
                                     Pace pace);
  // The body as JSON, or the error that an answer tells.
  Task<json::Value> ask(net::Method method, std::string path, std::string body, Pace pace);
  Error transport_error(const Error& error, Pace pace) const;
  Error told_error(const net::Response& response) const;

  asio::any_io_executor executor_;
  const Dialect& dialect_;
  std::string socket_;
  net::Endpoint endpoint_;
  net::HttpClient http_;
  std::string version_;  // "/v1.41"; "" = not greeted yet
  // Those under way, to be ended by close(); shared with them.
  struct Waits;
  std::shared_ptr<Waits> waits_;
};

}  // namespace atl::container
