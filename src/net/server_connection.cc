#include "net/server_connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSlice = 256 * 1024;  // what one write deadline covers
constexpr size_t kScratch = 16 * 1024;
constexpr size_t kLingerBytes = 64 * 1024 * 1024;

Error client_gone(const Error& cause) {
  if (cause.code() == Code::deadline_exceeded) return cause;
  return Error(Code::cancelled, "the client went away: " + cause.message(), cause.os_errno());
}

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<HttpServer::State> server, StreamPtr stream,
                                   Peer peer)
    : server_(std::move(server)),
      stream_(std::move(stream)),
      reader_(*stream_),
      watch_over_(server_->executor),
      gone_(server_->executor) {
  request_.peer = std::move(peer);
  server_->connections.insert(this);
}

ServerConnection::~ServerConnection() {
  server_->connections.erase(this);
  if (server_->connections.empty()) server_->empty.set();
}

void ServerConnection::close() {
  if (stream_) stream_->close();
  lost();
}

void ServerConnection::close_if_idle() {
  if (idle_ && stream_) stream_->close();
}

Task<> ServerConnection::run() {
  while (true) {
    auto there = co_await read_head();
    if (!there || !*there) break;
    CO_TRY_OK(co_await handle_one());
    if (!stream_) co_return Result<>();
    if (!finished()) {
      // Cut short on purpose: an orderly end would look like a complete answer.
      stream_->close();
      break;
    }
    if (!facts_.keep_alive || server_->draining) {
      needs_linger_ = needs_linger_ || !reader_.body.done() || !reader_.pending().empty();
      break;
    }
    const auto next = co_await discard_rest();
    if (!next || !*next) break;
  }
  if (stream_->is_open()) {
    stream_->set_write_deadline(Clock::now() + limits().linger);
    const auto ended = co_await stream_->shutdown_write();
    if (ended && needs_linger_) {
      const auto ignored = co_await linger();
      (void)ignored;
    }
  }
  stream_->close();
  lost();
  co_return Result<>();
}

Task<> ServerConnection::handle_one() {
  stage_ = Stage::waiting;
  continue_due_ = facts_.expects_continue;
  head_only_ = request_.method == Method::head;
  exchange_open_ = true;
  ++server_->stats.requests;
  Exchange exchange(*this);
  bool threw = false;
  try {
    co_await server_->handler.handle(exchange);
  } catch (const std::exception&) {
    threw = true;
  }
  exchange_open_ = false;
  watch_wanted_ = false;
  on_closed_ = nullptr;
  if (stream_ && stage_ == Stage::waiting) {
    auto problem = make_problem(
        500, Error(Code::internal, threw ? "the handler failed" : "the handler gave no answer")
                 .at_stage("handle"));
    facts_.keep_alive = false;
    const auto sent = co_await respond(std::move(problem));
    if (!sent) stream_->close();
  }
  co_return Result<>();
}

// Reads into the buffer, or lets a watch that is already reading do it.
Task<size_t> ServerConnection::fill_idle(std::optional<TimePoint> deadline) {
  stream_->set_read_deadline(deadline);
  if (!watching_) co_return co_await reader_.fill();
  const size_t before = reader_.pending().size();
  co_await watch_over_.wait();
  if (gone_.is_set()) co_return 0;
  co_return reader_.pending().size() - before;
}

Task<bool> ServerConnection::read_head() {
  const ServerLimits& limit = limits();
  std::optional<TimePoint> head_deadline;
  size_t scanned = 0;
  size_t size = std::string_view::npos;
  while (true) {
    // An empty line before a request is what some old clients leave behind.
    while (scanned == 0 && reader_.pending().starts_with("\r\n")) {
      reader_.consume(2);
      if (!head_deadline) head_deadline = Clock::now() + limit.header_timeout;
    }
    const std::string_view bytes = reader_.pending();
    if (scanned == 0 && !bytes.empty() && !is_token_char(bytes.front()) && bytes != "\r") {
      co_return co_await refuse(Refusal{.detail = "this is no HTTP"});
    }
    size = find_head_end(bytes, scanned);
    if (size != std::string_view::npos) break;
    if (bytes.size() > limit.target_bytes + 64 && bytes.find("\r\n") == std::string_view::npos) {
      co_return co_await refuse(Refusal{414, Code::too_large, "the target is too long"});
    }
    if (bytes.size() > limit.header_bytes) break;
    scanned = bytes == "\r" ? 0 : bytes.size();

    idle_ = bytes.empty();
    if (idle_ && (server_->draining || gone_.is_set())) co_return false;
    if (idle_) reader_.shrink();
    TimePoint deadline;
    if (head_deadline) {
      deadline = *head_deadline;
    } else if (idle_ && !(first_request_ && request_.peer.tls)) {
      deadline = Clock::now() + limit.idle_timeout;
    } else {
      deadline = Clock::now() + limit.header_timeout;
      if (!idle_) head_deadline = deadline;
    }
    CO_TRY(const size_t got, co_await fill_idle(deadline));
    idle_ = false;
    if (got == 0) co_return false;
  }
  first_request_ = false;
  if (size > limit.header_bytes) {
    co_return co_await refuse(Refusal{431, Code::too_large, "the header fields are too long"});
  }
  const HeadLimits head_limits{limit.header_bytes, limit.header_count, limit.target_bytes};
  auto refused =
      parse_request_head(reader_.pending().substr(0, size), head_limits, request_, facts_);
  if (refused) co_return co_await refuse(std::move(*refused));
  reader_.consume(size);
  reader_.body.start(facts_.framing, facts_.size);
  reader_.pace = Pace{};
  reader_.pace.patience = limit.body_patience;
  reader_.pace.bytes_per_second = limit.body_bytes_per_second;
  // The watch over the request before may still be reading; a body has one reader.
  if (watching_ && !reader_.body.done()) {
    stream_->cancel();
    co_await watch_over_.wait();
    if (gone_.is_set()) co_return false;
  }
  co_return true;
}

Task<bool> ServerConnection::refuse(Refusal refusal) {
  ++server_->stats.malformed;
  facts_ = HeadFacts{};
  facts_.keep_alive = false;
  stage_ = Stage::waiting;
  head_only_ = false;
  request_.method = Method::get;
  request_.minor_version = 1;
  reader_.body.start(Framing::none, 0);
  needs_linger_ = true;
  auto problem = make_problem(refusal.status,
                              Error(refusal.code, std::move(refusal.detail)).at_stage("request"));
  CO_TRY_OK(co_await respond(std::move(problem)));
  co_return false;
}

// What the handler left of the body must go before the next request; true if it went.
Task<bool> ServerConnection::discard_rest() {
  if (reader_.body.done()) co_return true;
  char scratch[kScratch];
  size_t gone = 0;
  while (gone <= limits().discard_bytes) {
    CO_TRY(const size_t got, co_await reader_.read_body(scratch, sizeof scratch));
    if (got == 0) co_return true;
    gone += got;
  }
  needs_linger_ = true;
  co_return false;
}

// Closing a socket that still holds unread bytes resets it, and the reset may overtake the answer.
Task<> ServerConnection::linger() {
  char scratch[kScratch];
  stream_->set_read_deadline(Clock::now() + limits().linger);
  size_t gone = 0;
  while (gone < kLingerBytes && !watching_) {
    CO_TRY(const size_t got, co_await stream_->read_some(scratch, sizeof scratch));
    if (got == 0) break;
    gone += got;
  }
  co_return Result<>();
}

Task<std::string> ServerConnection::read_body(size_t limit) {
  std::string body;
  const auto too_large = [limit] {
    return Error(Code::too_large, fmt::format("the body is larger than {} bytes", limit));
  };
  if (facts_.framing == Framing::sized) {
    if (facts_.size > limit) co_return too_large();
    // Believed only as far as the bytes come.
    body.reserve(static_cast<size_t>(std::min<uint64_t>(facts_.size, kSlice)));
  }
  while (!reader_.body.done()) {
    const size_t filled = body.size();
    size_t room = std::max(body.capacity() - filled, kScratch);
    if (facts_.framing == Framing::sized) room = std::min<size_t>(room, facts_.size - filled);
    body.resize(filled + room);
    auto got = co_await read_body_some(body.data() + filled, room);
    if (!got) co_return std::move(got).error();
    body.resize(filled + *got);
    if (body.size() > limit) co_return too_large();
  }
  co_return body;
}

Task<size_t> ServerConnection::read_body_some(void* data, size_t size) {
  if (!stream_) co_return Error(Code::cancelled, "the connection was released");
  if (continue_due_ && !started()) {
    continue_due_ = false;
    if (reader_.pending().empty()) {
      const Pieces interim{"HTTP/1.1 100 Continue\r\n\r\n", {}, {}};
      CO_TRY_OK(co_await send(interim));
    }
  }
  auto got = co_await reader_.read_body(data, size);
  if (!got) {
    facts_.keep_alive = false;
    needs_linger_ = true;
    if (got.error().code() == Code::invalid_argument) co_return std::move(got).error();
    lost();
    co_return client_gone(got.error());
  }
  if (reader_.body.done() && watch_wanted_) start_watch();
  co_return *got;
}

std::optional<uint64_t> ServerConnection::declared_body_size() const {
  if (facts_.framing == Framing::chunked) return std::nullopt;
  return facts_.size;
}

Task<> ServerConnection::wait_closed() {
  start_watch();
  co_await gone_.wait();
  co_return Result<>();
}

void ServerConnection::on_closed(std::function<void()> hook) {
  on_closed_ = std::move(hook);
  if (gone_.is_set()) {
    lost();
  } else {
    start_watch();
  }
}

void ServerConnection::start_watch() {
  watch_wanted_ = true;
  if (watching_ || gone_.is_set() || !reader_.body.done() || !stream_) return;
  watching_ = true;
  watch_over_.reset();
  stream_->set_read_deadline(std::nullopt);
  spawn(server_->executor, watch(shared_from_this()));
}

// Reads ahead while the handler works: the end of the stream is the only sign of a client that
// left. What comes instead is the next request, kept for later; of that no more than a head's
// worth.
Task<> ServerConnection::watch(std::shared_ptr<ServerConnection> self) {
  bool ended = false;
  do {
    const auto got = co_await self->reader_.fill();
    ended = !got ? got.error().code() != Code::cancelled || !self->stream_->is_open() : *got == 0;
    if (!got) break;
  } while (!ended && self->exchange_open_ && self->watch_wanted_ &&
           self->reader_.pending().size() < self->limits().header_bytes);
  self->watching_ = false;
  self->watch_over_.set();
  if (ended) self->lost();
  co_return Result<>();
}

void ServerConnection::lost() {
  gone_.set();
  if (auto hook = std::exchange(on_closed_, nullptr)) hook();
}

Task<Released> ServerConnection::release_stream() {
  watch_wanted_ = false;
  if (watching_) {
    stream_->cancel();
    co_await watch_over_.wait();
  }
  if (!stream_ || gone_.is_set()) co_return Error(Code::cancelled, "the client went away");
  stage_ = Stage::finished;
  stream_->set_deadline(std::nullopt);
  Released released{std::move(stream_), std::string(reader_.pending())};
  reader_.consume(released.already_read.size());
  co_return released;
}

}  // namespace atl::net
