// ExecStream: what a command in a daemon's sandbox tells while it runs, and what can be said to it.
//
//   CO_TRY(const auto stream, co_await ExecStream::open(connection, std::move(request)));
//   for (;;) {
//     CO_TRY(const auto event, co_await stream->next());
//     if (!event) break;  // it has ended, and the last event said how
//   }
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/connection.h"
#include "client/frame_reader.h"
#include "json/value.h"
#include "net/output_frame.h"

namespace atl::client {

struct ExecStreamRequest {
  net::Method method = net::Method::post;
  std::string target;
  std::string body;                                // JSON
  std::optional<std::chrono::milliseconds> total;  // nullopt: as long as the command takes
};

struct ExecEvent {
  net::FrameKind kind = net::FrameKind::out;  // never `error`, which is one of next()
  std::string_view bytes;                     // of output; good until the next call
  json::Value value;                          // of all others, as the API tells it
};

class ExecStream final {
 public:
  // The request has gone out then; what is wrong with it is said by next().
  static Task<std::unique_ptr<ExecStream>> open(Connection& connection, ExecStreamRequest request);

  // Nullopt at the end. Code::unavailable if the daemon breaks off before it has told how the
  // command ended: that must not look like success.
  Task<std::optional<ExecEvent>> next();
  // Ends it from another coroutine: next() gives Code::cancelled.
  void cancel() { call_->cancel(); }

 private:
  ExecStream(Connection& connection, std::unique_ptr<net::ClientCall> call);
  Task<bool> receive();
  Result<ExecEvent> to_event(FramePiece piece);

  Connection* connection_;
  std::unique_ptr<net::ClientCall> call_;
  FrameReader frames_;
  std::string buffer_;
  bool has_head_ = false;
  bool has_exit_ = false;
};

// A command that runs.
struct ProcessRef {
  std::string sandbox;
  uint64_t process = 0;
};

// Of an event of the kind `start`.
ProcessRef started_process(const json::Value& start);

std::string process_path(const ProcessRef& process, std::string_view rest);
Task<> send_signal(Connection& connection, ProcessRef process, std::string name);
Task<> resize_terminal(Connection& connection, ProcessRef process, int rows, int columns);
// What is written to the call is the command's stdin; finish() is its end, and receive() then tells
// whether all was taken.
Task<std::unique_ptr<net::ClientCall>> open_stdin(Connection& connection, ProcessRef process);

}  // namespace atl::client
