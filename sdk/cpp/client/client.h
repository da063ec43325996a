// Client: a Connection with a loop of its own, for programs that wait for each answer.
//
//   TRY(const auto client, Client::connect(options, request_id));
//   TRY(const std::string text, client->get("/v1/drivers"));
//
// Used by one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "client/connection.h"

namespace boost::asio {
class io_context;
}

namespace atl::client {

class Client final {
 public:
  static Result<std::unique_ptr<Client>> connect(const ConnectionOptions& options,
                                                 std::string& request_id);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<std::string> get(std::string target);
  Result<std::string> post(std::string target, std::string json);
  Result<std::string> patch(std::string target, std::string json);
  Result<> remove(std::string target);

  // For what streams: run_task(client.loop(), …(client.connection())).
  asio::io_context& loop() { return *loop_; }
  Connection& connection() { return *connection_; }
  bool is_local() const { return connection_->is_local(); }

 private:
  Client();

  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace atl::client
