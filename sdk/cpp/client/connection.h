// Connection: the API of one daemon, as coroutines on the caller's executor.
//
//   CO_TRY(const std::string text, co_await connection.get("/v1/drivers"));
//
// An answer of 400 or more becomes an Error with the server's code, stage and hint; its request id
// goes to the string that the connection was made with. Used on the executor's one thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/task.h"
#include "client/target.h"
#include "net/http_client.h"

namespace atl::client {

struct ConnectionOptions {
  Target target;
  // For an answer that is not a stream. Creating a sandbox may pull an image; the server has its
  // own deadlines.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::string traceparent;  // sent with every request; "" or malformed: none
};

class Connection final {
 public:
  // `request_id` gets the id of the last request that was refused, and outlives this. Only a URL
  // that is none is an error: nobody is called before the first request.
  static Result<Connection> create(const asio::any_io_executor& executor,
                                   const ConnectionOptions& options, std::string& request_id);
  // The same daemon and kept connections, for somebody who wants to know of his own requests.
  Connection for_caller(std::string& request_id) const;

  Task<std::string> get(std::string target);
  Task<std::string> post(std::string target, std::string json);
  Task<std::string> patch(std::string target, std::string json);
  Task<> remove(std::string target);

  // The parts, for streams. The target as given, with the key and what else every request carries.
  net::ClientRequest make_request(net::Method method, std::string target) const;
  Task<std::unique_ptr<net::ClientCall>> begin(net::ClientRequest request,
                                               net::RequestBody body = {});
  // Waits for the head of the answer; an answer that is a problem is read whole and becomes the
  // error.
  Task<> expect_success(net::ClientCall& call);
  Task<std::string> exchange(net::ClientRequest request);

  const asio::any_io_executor& executor() const { return executor_; }
  bool is_local() const { return endpoint_.kind == net::Endpoint::Kind::unix_socket; }

 private:
  Connection(asio::any_io_executor executor, ConnectionOptions options, net::Endpoint endpoint,
             std::string& request_id);
  Task<std::string> send(net::Method method, std::string target, std::string json);
  Error to_error(int status, std::string_view body);
  Error unreachable(Error error) const;

  asio::any_io_executor executor_;
  ConnectionOptions options_;
  net::Endpoint endpoint_;
  std::shared_ptr<net::HttpClient> http_;
  std::string* request_id_;
};

// "/v1/sandboxes/ID" and what follows.
std::string sandbox_path(std::string_view id, std::string_view rest = "");
// "path=…", or "path_b64=…" for what is not UTF-8.
std::string path_query(std::string_view path);

// The error that a problem+json body describes.
Error problem_to_error(int status, std::string_view body, std::string& request_id);

}  // namespace atl::client
