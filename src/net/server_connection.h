// ServerConnection: one client of the HTTP server, request after request. Only src/net includes
// this.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "net/event.h"
#include "net/http_server.h"
#include "net/message_reader.h"

namespace atl::net {

// What listeners and connections share. It outlives the HttpServer while connections unwind.
struct HttpServer::State final : std::enable_shared_from_this<HttpServer::State> {
  State(asio::any_io_executor on, Handler& by, ServerLimits within)
      : executor(std::move(on)), handler(by), limits(within), empty(executor) {}

  void serve(StreamPtr stream, Peer peer);
  // Now, as the Date header has it; made once a second.
  std::string_view date();

  asio::any_io_executor executor;
  Handler& handler;
  ServerLimits limits;
  ServerStats stats;
  std::unordered_set<ServerConnection*> connections;
  size_t refusals = 0;  // connections that are being told 503
  Event empty;          // set when the last connection has gone
  bool draining = false;

  std::string date_text;
  time_t date_second = -1;
};

class ServerConnection final : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<HttpServer::State> server, StreamPtr stream, Peer peer);
  ~ServerConnection();

  Task<> run();
  void close();
  // Closes it if it waits for a request of which nothing has come.
  void close_if_idle();

  // The exchange's side; see Exchange.
  const Request& request() const { return request_; }
  const ServerLimits& limits() const { return server_->limits; }
  Task<std::string> read_body(size_t limit);
  Task<size_t> read_body_some(void* data, size_t size);
  std::optional<uint64_t> declared_body_size() const;
  void wait_for_body_forever() { reader_.pace.patience.reset(); }
  Task<> respond(Response response);
  Task<> begin(int status, Headers headers, std::optional<uint64_t> length);
  Task<> write(std::string_view head, std::string_view bytes);  // awaited at once
  Task<> end();
  bool started() const { return stage_ != Stage::waiting; }
  bool finished() const { return stage_ == Stage::finished; }
  void close_after() { facts_.keep_alive = false; }
  Task<> wait_closed();
  void on_closed(std::function<void()> hook);
  Task<Released> upgrade(Headers headers);
  Task<Released> release_stream();

 private:
  enum class Stage : uint8_t { waiting, streaming, finished };
  enum class Sending : uint8_t { sized, chunked, until_close };

  Task<bool> read_head();
  Task<bool> refuse(Refusal refusal);
  Task<size_t> fill_idle(std::optional<TimePoint> deadline);
  Task<> handle_one();
  Task<bool> discard_rest();
  Task<> linger();

  void start_head(int status);
  void finish_head(std::string_view framing);
  void decide_keep_alive();
  Task<> send(Pieces pieces);
  Task<> send_long(std::string_view head, std::string_view bytes);  // awaited at once
  bool body_forbidden(int status) const;

  void start_watch();
  static Task<> watch(std::shared_ptr<ServerConnection> self);
  void lost();

  std::shared_ptr<HttpServer::State> server_;
  StreamPtr stream_;
  MessageReader reader_;
  Request request_;
  HeadFacts facts_;
  std::string out_;  // the head or chunk size under construction; kept for its memory

  Stage stage_ = Stage::waiting;
  Sending sending_ = Sending::sized;
  uint64_t left_to_send_ = 0;
  bool head_only_ = false;     // the answer has no body: HEAD, 204, 304
  bool continue_due_ = false;  // the client waits for "100 Continue"
  bool idle_ = false;
  bool first_request_ = true;
  bool needs_linger_ = false;

  Event watch_over_;
  Event gone_;
  std::function<void()> on_closed_;
  bool watching_ = false;
  bool watch_wanted_ = false;
  bool exchange_open_ = false;
};

}  // namespace atl::net
