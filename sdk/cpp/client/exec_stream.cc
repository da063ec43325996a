#include "client/exec_stream.h"

#include <fmt/core.h>

#include "client/answer.h"
#include "json/encode.h"

namespace atl::client {
namespace {

using net::FrameKind;

constexpr size_t kPieceBytes = 256 * 1024;

Error cut_off() {
  return Error(Code::unavailable, "the daemon broke off before the command had ended")
      .with_hint("was it stopped? what runs in a kept sandbox goes on: atoll ps, atoll logs BOX");
}

}  // namespace

ExecStream::ExecStream(Connection& connection, std::unique_ptr<net::ClientCall> call)
    : connection_(&connection), call_(std::move(call)), buffer_(kPieceBytes, '\0') {}

Task<std::unique_ptr<ExecStream>> ExecStream::open(Connection& connection,
                                                   ExecStreamRequest request) {
  auto sent = connection.make_request(request.method, std::move(request.target));
  sent.headers.add("Accept", net::kOutputFrames);
  if (!request.body.empty()) sent.headers.add("Content-Type", "application/json");
  sent.body = std::move(request.body);
  sent.timeouts.total = request.total;
  CO_TRY(auto call, co_await connection.begin(std::move(sent)));
  co_return std::unique_ptr<ExecStream>(new ExecStream(connection, std::move(call)));
}

// False at the end.
Task<bool> ExecStream::receive() {
  if (!has_head_) {
    CO_TRY_OK(co_await connection_->expect_success(*call_));
    has_head_ = true;
  }
  const auto got = co_await call_->read_some(buffer_.data(), buffer_.size());
  if (!got && got.error().code() == Code::unavailable) co_return cut_off();
  if (!got) co_return got.error();
  if (*got == 0 && !(frames_.is_between_frames() && has_exit_)) co_return cut_off();
  frames_.add({buffer_.data(), *got});
  co_return *got != 0;
}

Result<ExecEvent> ExecStream::to_event(FramePiece piece) {
  const auto kind = static_cast<FrameKind>(piece.kind);
  if (kind == FrameKind::out || kind == FrameKind::err) return ExecEvent{kind, piece.bytes, {}};
  if (kind == FrameKind::error) {
    std::string request_id;  // known already, from the start
    return problem_to_error(500, piece.bytes, request_id);
  }
  TRY(auto value, parse_answer(piece.bytes));
  if (kind == FrameKind::exit) has_exit_ = true;
  return ExecEvent{kind, {}, std::move(value)};
}

Task<std::optional<ExecEvent>> ExecStream::next() {
  for (;;) {
    CO_TRY(const auto piece, frames_.next());
    if (piece && piece->kind <= static_cast<uint8_t>(FrameKind::error)) {
      CO_TRY(auto event, to_event(*piece));
      co_return std::optional(std::move(event));
    }
    if (piece) continue;  // a kind that a newer daemon knows
    CO_TRY(const bool more, co_await receive());
    if (!more) co_return std::optional<ExecEvent>();
  }
}

ProcessRef started_process(const json::Value& start) {
  return {text_at(start, "sandbox"), count_at(start, "process")};
}

std::string process_path(const ProcessRef& process, std::string_view rest) {
  return sandbox_path(process.sandbox, fmt::format("/processes/{}/{}", process.process, rest));
}

Task<> send_signal(Connection& connection, ProcessRef process, std::string name) {
  const std::string body = R"({"signal":)" + json::encode(name) + "}";
  CO_TRY_OK(co_await connection.post(process_path(process, "signal"), body));
  co_return Result<>();
}

Task<> resize_terminal(Connection& connection, ProcessRef process, int rows, int columns) {
  const std::string body = fmt::format(R"({{"rows":{},"cols":{}}})", rows, columns);
  CO_TRY_OK(co_await connection.post(process_path(process, "resize"), body));
  co_return Result<>();
}

Task<std::unique_ptr<net::ClientCall>> open_stdin(Connection& connection, ProcessRef process) {
  auto request = connection.make_request(net::Method::post, process_path(process, "stdin"));
  request.headers.add("Content-Type", "application/octet-stream");
  request.timeouts.total.reset();
  const net::RequestBody body{net::RequestBody::Kind::chunked, 0};
  co_return co_await connection.begin(std::move(request), body);
}

}  // namespace atl::client
