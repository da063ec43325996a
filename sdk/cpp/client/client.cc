#include "client/client.h"

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"

namespace atl::client {

Client::Client() : loop_(std::make_unique<asio::io_context>(1)) {}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(const ConnectionOptions& options,
                                                std::string& request_id) {
  std::unique_ptr<Client> client(new Client);
  TRY(auto connection, Connection::create(client->loop_->get_executor(), options, request_id));
  client->connection_ = std::make_unique<Connection>(std::move(connection));
  return client;
}

Result<std::string> Client::get(std::string target) {
  return run_task(*loop_, connection_->get(std::move(target)));
}

Result<std::string> Client::post(std::string target, std::string json) {
  return run_task(*loop_, connection_->post(std::move(target), std::move(json)));
}

Result<std::string> Client::patch(std::string target, std::string json) {
  return run_task(*loop_, connection_->patch(std::move(target), std::move(json)));
}

Result<> Client::remove(std::string target) {
  return run_task(*loop_, connection_->remove(std::move(target)));
}

}  // namespace atl::client
