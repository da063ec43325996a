#include "net/http_client.h"

#include <fmt/core.h>

#include <algorithm>

#include "net/client_pool_internal.h"
#include "net/http_write.h"

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSlice = 256 * 1024;
constexpr size_t kReadSize = 64 * 1024;
constexpr char kNotNow[] = "the HTTP call is not at the stage for this";
constexpr int kMaxInterim = 16;  // 1xx answers before the real one

bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "host") || equals_ignoring_case(name, "content-length") ||
         equals_ignoring_case(name, "transfer-encoding");
}

bool carries_body(Method method) {
  return method == Method::post || method == Method::put || method == Method::patch;
}

Result<> check_request(const ClientRequest& request) {
  if (request.method == Method::other || request.method == Method::connect) {
    return Error(Code::invalid_argument, "the HTTP client does not send this method");
  }
  // A space or line break here would become another request line.
  const bool clean = std::all_of(request.target.begin(), request.target.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
  });
  if (!clean || (!request.target.starts_with('/') && request.target != "*")) {
    return Error(Code::invalid_argument, "the target must be a percent-encoded path");
  }
  return {};
}

}  // namespace

struct ClientCall::Parts {
  std::shared_ptr<ClientState> state;
  Endpoint endpoint;
  ClientRequest request;
  RequestBody framing;
  std::optional<TimePoint> until;

  ClientConnectionPtr connection;
  ResponseHead head;
  HeadFacts facts;
  std::optional<Error> write_error;
  std::string out;
  uint64_t left_to_send = 0;
  bool request_done = false;
  bool received = false;
  bool answered = false;  // at least a byte of the answer came

  TimePoint sooner(std::chrono::milliseconds after) const {
    const TimePoint other = Clock::now() + after;
    return until && *until < other ? *until : other;
  }

  std::optional<TimePoint> next_deadline() const {
    if (request.timeouts.silence) return sooner(*request.timeouts.silence);
    return until;
  }

  // A peer that takes everything at once never makes the stream look at its deadline.
  Result<> check_time() const {
    if (!until || Clock::now() < *until) return {};
    return Error(Code::deadline_exceeded, "sending a request: the deadline passed");
  }

  // Whether the failure may only mean that the server had closed a kept connection. Then nothing of
  // ours was understood, or it does no harm to say it twice.
  bool may_retry(const Error& failed) const {
    return connection && connection->reused && !answered && is_idempotent(request.method) &&
           framing.kind == RequestBody::Kind::none && failed.code() == Code::unavailable;
  }

  // Connects (or takes a kept connection) and sends the head. What goes wrong in sending is kept
  // for receive(): a server may answer without having read everything.
  Task<> start(Reuse reuse) {
    const TimePoint connect_by = sooner(request.timeouts.connect);
    CO_TRY(connection, co_await state->acquire(endpoint, reuse, connect_by));
    write_error.reset();
    write_head();
    left_to_send = framing.size;
    request_done = framing.kind == RequestBody::Kind::none;
    std::string_view body = request.body;
    std::string_view first = out;
    do {
      CO_TRY_OK(check_time());
      connection->stream->set_write_deadline(next_deadline());
      const Pieces pieces{first, body.substr(0, kSlice), {}};
      body.remove_prefix(std::min(kSlice, body.size()));
      first = {};
      auto sent = co_await connection->stream->write_pieces(pieces);
      if (!sent && sent.error().code() != Code::unavailable) co_return std::move(sent).error();
      if (!sent) {
        write_error = std::move(sent).error();
        break;
      }
    } while (!body.empty());
    co_return Result<>();
  }

  void write_head() {
    out.clear();
    out += to_string(request.method);
    out += ' ';
    if (request.target != "*") out += endpoint.base_path;
    out += request.target;
    out += " HTTP/1.1\r\nHost: ";
    out += endpoint.host_header();
    out += "\r\n";
    append_fields(out, request.headers, is_ours);
    if (framing.kind == RequestBody::Kind::chunked) {
      out += "Transfer-Encoding: chunked\r\n";
    } else {
      const bool sized = framing.kind == RequestBody::Kind::sized;
      const uint64_t size = sized ? framing.size : request.body.size();
      if (sized || size > 0 || carries_body(request.method)) {
        out += "Content-Length: ";
        append_number(out, size);
        out += "\r\n";
      }
    }
    out += "\r\n";
  }

  // One head, interim ones included.
  Task<> read_head() {
    MessageReader& reader = *connection->reader;
    const ClientLimits& limits = state->limits();
    const HeadLimits head_limits{limits.header_bytes, limits.header_count, 0};
    size_t scanned = 0;
    while (true) {
      const std::string_view bytes = reader.pending();
      answered = answered || !bytes.empty();
      const size_t size = find_head_end(bytes, scanned);
      const size_t known = size == std::string_view::npos ? bytes.size() : size;
      if (known > limits.header_bytes) {
        co_return Error(Code::too_large, "the answer's head is too long");
      }
      if (size != std::string_view::npos) {
        CO_TRY_OK(parse_response_head(bytes.substr(0, size), head_limits, request.method,
                                      head.status, head.headers, facts));
        reader.consume(size);
        co_return Result<>();
      }
      scanned = bytes.size();
      CO_TRY(const size_t got, co_await reader.fill());
      if (got == 0) co_return Error(Code::unavailable, "the server closed without an answer");
    }
  }

  Task<> read_final_head() {
    connection->stream->set_read_deadline(sooner(request.timeouts.first_byte));
    for (int i = 0; i < kMaxInterim; ++i) {
      CO_TRY_OK(co_await read_head());
      if (head.status < 200 && head.status != 101) continue;
      received = true;
      connection->reader->body.start(facts.framing, facts.size);
      connection->reader->pace = Pace{};
      connection->reader->pace.until = until;
      connection->reader->pace.silence = request.timeouts.silence;
      co_return Result<>();
    }
    co_return Error(Code::internal, "the server gives nothing but interim answers");
  }

  bool reusable() const {
    return connection && received && request_done && !write_error && facts.keep_alive &&
           head.status != 101 && connection->reader->body.done() &&
           connection->reader->pending().empty() && connection->stream->is_open();
  }
};

ClientCall::ClientCall(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ClientCall::~ClientCall() {
  if (parts_->reusable()) parts_->state->keep(std::move(parts_->connection));
}

const ResponseHead& ClientCall::head() const { return parts_->head; }

Task<> ClientCall::write(std::string_view bytes) {
  Parts& parts = *parts_;
  if (parts.request_done || !parts.connection) co_return Error(Code::internal, kNotNow);
  const bool chunked = parts.framing.kind == RequestBody::Kind::chunked;
  if (!chunked) {
    if (bytes.size() > parts.left_to_send) {
      co_return Error(Code::internal, "a request body longer than it was announced");
    }
    parts.left_to_send -= bytes.size();
  }
  while (!bytes.empty()) {
    CO_TRY_OK(parts.check_time());
    const std::string_view slice = bytes.substr(0, kSlice);
    bytes.remove_prefix(slice.size());
    parts.out.clear();
    if (chunked) append_chunk_size(parts.out, slice.size());
    const std::string_view tail = chunked ? "\r\n" : "";
    const Pieces pieces{parts.out, slice, tail};
    parts.connection->stream->set_write_deadline(parts.next_deadline());
    CO_TRY_OK(co_await parts.connection->stream->write_pieces(pieces));
  }
  co_return Result<>();
}

Task<> ClientCall::finish() {
  Parts& parts = *parts_;
  if (parts.request_done) co_return Result<>();
  if (!parts.connection) co_return Error(Code::internal, kNotNow);
  if (parts.framing.kind == RequestBody::Kind::chunked) {
    parts.connection->stream->set_write_deadline(parts.next_deadline());
    CO_TRY_OK(co_await parts.connection->stream->write_all(std::string_view("0\r\n\r\n")));
  } else if (parts.left_to_send > 0) {
    co_return Error(Code::internal, "a request body shorter than it was announced");
  }
  parts.request_done = true;
  co_return Result<>();
}

Task<> ClientCall::receive() {
  Parts& parts = *parts_;
  if (parts.received || !parts.connection) co_return Error(Code::internal, kNotNow);
  auto got = co_await parts.read_final_head();
  if (!got && parts.may_retry(got.error())) {
    parts.connection.reset();
    CO_TRY_OK(co_await parts.start(Reuse::never));
    got = co_await parts.read_final_head();
  }
  if (got) co_return Result<>();
  parts.connection->stream->close();
  if (parts.write_error) co_return *parts.write_error;
  co_return std::move(got).error();
}

Task<size_t> ClientCall::read_some(void* data, size_t size) {
  Parts& parts = *parts_;
  if (!parts.received || !parts.connection) co_return Error(Code::internal, kNotNow);
  auto got = co_await parts.connection->reader->read_body(data, size);
  if (got) co_return *got;
  parts.facts.keep_alive = false;
  if (got.error().code() != Code::invalid_argument) co_return std::move(got).error();
  co_return Error(Code::internal, "the answer's body: " + got.error().message());
}

Task<std::string> ClientCall::read_all(size_t limit) {
  Parts& parts = *parts_;
  if (!parts.received || !parts.connection) co_return Error(Code::internal, kNotNow);
  const auto too_large = [limit] {
    return Error(Code::too_large, fmt::format("the answer is larger than {} bytes", limit));
  };
  const bool sized = parts.facts.framing == Framing::sized;
  if (sized && parts.facts.size > limit) co_return too_large();
  std::string body;
  if (sized) body.reserve(static_cast<size_t>(std::min<uint64_t>(parts.facts.size, kSlice)));
  while (!parts.connection->reader->body.done()) {
    const size_t filled = body.size();
    size_t room = std::max(body.capacity() - filled, kReadSize);
    if (sized) room = std::min<size_t>(room, parts.facts.size - filled);
    body.resize(filled + room);
    auto got = co_await read_some(body.data() + filled, room);
    if (!got) co_return std::move(got).error();
    body.resize(filled + *got);
    if (body.size() > limit) co_return too_large();
  }
  co_return body;
}

Released ClientCall::release_stream() {
  ClientConnectionPtr connection = std::move(parts_->connection);
  if (!connection) return {};
  connection->stream->set_deadline(std::nullopt);
  return {std::move(connection->stream), std::string(connection->reader->pending())};
}

void ClientCall::cancel() {
  if (parts_->connection && parts_->connection->stream) parts_->connection->stream->close();
}

namespace {

Task<Response> collect(Task<std::unique_ptr<ClientCall>> opening, size_t limit) {
  CO_TRY(const auto call, co_await std::move(opening));
  CO_TRY_OK(co_await call->receive());
  Response response;
  response.status = call->head().status;
  response.headers = call->head().headers;
  CO_TRY(response.body, co_await call->read_all(limit));
  co_return response;
}

}  // namespace

HttpClient::HttpClient(asio::any_io_executor executor, ClientLimits limits)
    : state_(std::make_shared<ClientState>(std::move(executor), std::move(limits))) {}

HttpClient::~HttpClient() { state_->retire(); }

Task<std::unique_ptr<ClientCall>> HttpClient::open_with(std::shared_ptr<ClientState> state,
                                                        Endpoint endpoint, ClientRequest request,
                                                        RequestBody body) {
  CO_TRY_OK(check_request(request));
  auto parts = std::make_unique<ClientCall::Parts>();
  parts->state = std::move(state);
  parts->endpoint = std::move(endpoint);
  parts->request = std::move(request);
  parts->framing = body;
  if (body.kind != RequestBody::Kind::none) parts->request.body.clear();
  if (parts->request.timeouts.total) parts->until = Clock::now() + *parts->request.timeouts.total;
  CO_TRY_OK(co_await parts->start(Reuse::allowed));
  co_return std::unique_ptr<ClientCall>(new ClientCall(std::move(parts)));
}

Task<std::unique_ptr<ClientCall>> HttpClient::open(Endpoint endpoint, ClientRequest request,
                                                   RequestBody body) {
  return open_with(state_, std::move(endpoint), std::move(request), body);
}

Task<Response> HttpClient::send(Endpoint endpoint, ClientRequest request) {
  const size_t limit = request.response_limit;
  return collect(open(std::move(endpoint), std::move(request), {}), limit);
}

void HttpClient::adopt(const Endpoint& endpoint, StreamPtr stream) {
  auto connection = std::make_unique<ClientConnection>(state_, endpoint.key());
  connection->attach(std::move(stream));
  state_->keep(std::move(connection));
}

void HttpClient::close_idle() { state_->close_idle(); }
size_t HttpClient::idle_connections() const { return state_->idle_connections(); }

}  // namespace atl::net
