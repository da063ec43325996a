// The answering half of ServerConnection: heads, framing, deadlines for slow readers.
#include <fmt/core.h>

#include <algorithm>

#include "net/http_write.h"
#include "net/server_connection.h"

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSlice = 256 * 1024;  // what one write deadline covers

// A handler's bug costs its own answer, not the server.
constexpr char kAnsweredTwice[] = "the request has its answer already";
constexpr char kNotBegun[] = "no answer has been begun";

bool is_ours(std::string_view name) {
  switch (name.size()) {
    case 4:
      return equals_ignoring_case(name, "date");
    case 10:
      return equals_ignoring_case(name, "connection");
    case 14:
      return equals_ignoring_case(name, "content-length");
    case 17:
      return equals_ignoring_case(name, "transfer-encoding");
    default:
      return false;
  }
}

}  // namespace

bool ServerConnection::body_forbidden(int status) const {
  return request_.method == Method::head || status == 204 || status == 304;
}

void ServerConnection::start_head(int status) {
  out_.clear();
  if (status == 200) {
    out_ += "HTTP/1.1 200 OK\r\nDate: ";
  } else {
    out_ += "HTTP/1.1 ";
    append_number(out_, static_cast<uint64_t>(std::clamp(status, 100, 999)));
    out_ += ' ';
    out_ += reason_phrase(status);
    out_ += "\r\nDate: ";
  }
  out_ += server_->date();
  out_ += "\r\n";
}

void ServerConnection::finish_head(std::string_view framing) {
  out_ += framing;
  if (!facts_.keep_alive) {
    out_ += "Connection: close\r\n";
  } else if (request_.minor_version == 0) {
    out_ += "Connection: keep-alive\r\n";
  }
  out_ += "\r\n";
}

// Whether the connection can go on is known before the head is sent, so that the client is told.
void ServerConnection::decide_keep_alive() {
  if (server_->draining) facts_.keep_alive = false;
  if (reader_.body.done()) return;
  // A client that waits for "100 Continue" may send the body or not: nobody could tell what comes
  // next.
  const bool too_much = facts_.framing == Framing::sized && facts_.size > limits().discard_bytes;
  if (continue_due_ || too_much) {
    facts_.keep_alive = false;
    needs_linger_ = true;
  }
}

Task<> ServerConnection::send(Pieces pieces) {
  if (!stream_) co_return Error(Code::cancelled, "the connection was released");
  stream_->set_write_deadline(Clock::now() + limits().write_timeout);
  auto sent = co_await stream_->write_pieces(pieces);
  if (sent) co_return Result<>();
  facts_.keep_alive = false;
  const Error& cause = sent.error();
  const Code code = cause.code() == Code::deadline_exceeded ? cause.code() : Code::cancelled;
  Error told(code, "the client went away: " + cause.message(), cause.os_errno());
  lost();
  co_return told;
}

// In slices, each with its own deadline: a slow reader may take long in all, not for one slice.
Task<> ServerConnection::send_long(std::string_view head, std::string_view bytes) {
  do {
    const Pieces pieces{head, bytes.substr(0, kSlice), {}};
    bytes.remove_prefix(std::min(bytes.size(), kSlice));
    head = {};
    CO_TRY_OK(co_await send(pieces));
  } while (!bytes.empty());
  co_return Result<>();
}

Task<> ServerConnection::respond(Response response) {
  if (started()) co_return Error(Code::internal, kAnsweredTwice);
  decide_keep_alive();
  stage_ = Stage::streaming;
  start_head(response.status);
  append_fields(out_, response.headers, is_ours);
  if (response.status != 204) {
    out_ += "Content-Length: ";
    append_number(out_, response.body.size());
    out_ += "\r\n";
  }
  finish_head("");
  const bool without_body = head_only_ || body_forbidden(response.status);
  const std::string_view body = without_body ? std::string_view() : response.body;
  CO_TRY_OK(co_await send_long(out_, body));
  stage_ = Stage::finished;
  co_return Result<>();
}

Task<> ServerConnection::begin(int status, Headers headers, std::optional<uint64_t> length) {
  if (started()) co_return Error(Code::internal, kAnsweredTwice);
  decide_keep_alive();
  stage_ = Stage::streaming;
  head_only_ = body_forbidden(status);
  start_head(status);
  append_fields(out_, headers, is_ours);
  left_to_send_ = length.value_or(0);
  if (length) {
    sending_ = Sending::sized;
    finish_head(fmt::format("Content-Length: {}\r\n", *length));
  } else if (request_.minor_version == 0) {
    sending_ = Sending::until_close;
    facts_.keep_alive = false;
    finish_head("");
  } else {
    sending_ = Sending::chunked;
    finish_head(status == 204 || status == 304 ? "" : "Transfer-Encoding: chunked\r\n");
  }
  const Pieces pieces{out_, {}, {}};
  co_return co_await send(pieces);
}

Task<> ServerConnection::write(std::string_view head, std::string_view bytes) {
  if (stage_ != Stage::streaming) co_return Error(Code::internal, kNotBegun);
  const size_t size = head.size() + bytes.size();
  if (sending_ == Sending::sized) {
    if (size > left_to_send_) {
      facts_.keep_alive = false;
      co_return Error(Code::internal, "an answer longer than it was announced");
    }
    left_to_send_ -= size;
  }
  // An empty chunk would be the end.
  if (head_only_ || size == 0) co_return Result<>();
  if (sending_ != Sending::chunked) co_return co_await send_long(head, bytes);
  do {
    const std::string_view slice = bytes.substr(0, kSlice);
    bytes.remove_prefix(slice.size());
    out_.clear();
    append_chunk_size(out_, head.size() + slice.size());
    out_ += head;
    head = {};
    const Pieces pieces{out_, slice, "\r\n"};
    CO_TRY_OK(co_await send(pieces));
  } while (!bytes.empty());
  co_return Result<>();
}

Task<> ServerConnection::end() {
  if (stage_ != Stage::streaming) co_return Error(Code::internal, kNotBegun);
  if (sending_ == Sending::sized && left_to_send_ > 0 && !head_only_) {
    facts_.keep_alive = false;
    co_return Error(Code::internal, "an answer shorter than it was announced");
  }
  if (sending_ == Sending::chunked && !head_only_) {
    const Pieces pieces{"0\r\n\r\n", {}, {}};
    CO_TRY_OK(co_await send(pieces));
  }
  stage_ = Stage::finished;
  co_return Result<>();
}

Task<Released> ServerConnection::upgrade(Headers headers) {
  if (started()) co_return Error(Code::internal, kAnsweredTwice);
  start_head(101);
  append_fields(out_, headers, is_ours);
  out_ += "Connection: Upgrade\r\n\r\n";
  stage_ = Stage::finished;
  const Pieces pieces{out_, {}, {}};
  CO_TRY_OK(co_await send(pieces));
  co_return co_await release_stream();
}

}  // namespace atl::net
