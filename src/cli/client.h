// Client: the API of a daemon as plain calls that return when they are done.
//
//   TRY(auto client, Client::open(context));
//   TRY(const std::string text, client->get("/v1/drivers"));
//
// An answer of 400 or more becomes an Error with the server's code, stage and hint; its request id
// goes to the context.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/task.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "net/http_client.h"

namespace boost::asio {
class io_context;
}

namespace atl::cli {

class Client final {
 public:
  // Code::unavailable when no daemon is there.
  static Result<std::unique_ptr<Client>> open(Context& context);
  static Result<std::unique_ptr<Client>> connect(Context& context, const Target& target);
  ~Client();

  Result<std::string> get(std::string target);
  Result<std::string> post(std::string target, std::string json);
  Result<std::string> patch(std::string target, std::string json);
  Result<> remove(std::string target);

  // The parts, for streams.
  asio::io_context& loop() { return *loop_; }
  // The target as given, with the key and what else every request carries.
  net::ClientRequest make_request(net::Method method, std::string target) const;
  Task<std::unique_ptr<net::ClientCall>> begin(net::ClientRequest request,
                                               net::RequestBody body = {});
  // Waits for the head of the answer; an answer that is a problem is read whole and becomes the
  // error.
  Task<> expect_success(net::ClientCall& call);
  Task<std::string> exchange(net::ClientRequest request);
  bool is_local() const { return endpoint_.kind == net::Endpoint::Kind::unix_socket; }

 private:
  Client(Context& context, net::Endpoint endpoint, Target target);
  Error to_error(int status, std::string_view body);
  Error unreachable(Error error) const;

  Context& context_;
  net::Endpoint endpoint_;
  Target target_;
  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<net::HttpClient> http_;
};

// "/v1/sandboxes/ID" and what follows.
std::string sandbox_path(std::string_view id, std::string_view rest = "");

// The error that a problem+json body describes.
Error problem_to_error(int status, std::string_view body, std::string& request_id);

}  // namespace atl::cli
