#include "agent/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/caller.h"
#include "agent/first_words.h"
#include "base/bytes.h"
#include "guest/protocol.h"
#include "native/agent_config.h"
#include "native/box_facts.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr size_t kReadAtOnce = 256 * 1024;
constexpr size_t kHighWater = 1 << 20;
constexpr Micros kSoon = Millis(2);
// Answers may pass the high-water mark (each request has one); a client that asks without ever
// reading is cut off.
constexpr size_t kMostQueued = 16 << 20;

// As long to compare when the first byte differs as when the last one does.
bool same_token(std::string_view left, std::string_view right) {
  unsigned char difference = left.size() == right.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    difference |= static_cast<unsigned char>(left[i] ^ right[i]);
  }
  return difference == 0;
}

}  // namespace

Connection::Connection(Fd socket, Preface preface, std::string token, os::Poller& poller,
                       Jail& jail, ProcessTable& processes,
                       std::function<void(Connection&)> on_closed)
    : socket_(std::move(socket)),
      preface_(preface),
      token_(std::move(token)),
      poller_(poller),
      jail_(jail),
      processes_(processes),
      files_(jail.roots()),
      tunnels_(poller, *this),
      on_closed_(std::move(on_closed)) {}

Connection::~Connection() {
  if (socket_) poller_.remove(socket_.get());
}

Result<> Connection::start() {
  return poller_.add(socket_.get(), EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

void Connection::on_ready(uint32_t events) {
  if (events & EPOLLOUT) {
    flush();
    if (!is_closed()) processes_.pump(*this);
    if (!is_closed()) tunnels_.pump();
  }
  if (!is_closed() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) receive();
  if (!is_closed()) flush();
  if (is_closed()) on_closed_(*this);  // may delete this
}

void Connection::receive() {
  char* const space = in_.prepare(room_);
  auto received = os::receive_some(socket_.get(), {space, room_});
  if (!received) {
    if (received.error().os_errno() != EAGAIN) close();
    return;
  }
  if (received->bytes == 0) {
    close();
    return;
  }
  in_.commit(received->bytes);
  if (received->bytes == room_) room_ = std::min(room_ * 8, kReadAtOnce);
  for (auto& descriptor : received->descriptors)
    received_descriptors_.push_back(std::move(descriptor));
  if (preface_ == Preface::token && !take_preface()) return;
  while (!is_closed()) {
    auto frame = in_.next();
    if (!frame) {
      close();
      return;
    }
    if (!*frame) break;
    handle(**frame);
  }
  // Descriptors belong to the frame that they came with; what no frame has claimed by now is
  // nobody's.
  if (in_.pending().empty()) received_descriptors_.clear();
}

std::vector<Fd> Connection::take_descriptors(size_t count) {
  const size_t have = std::min(count, received_descriptors_.size());
  const auto end = received_descriptors_.begin() + static_cast<std::ptrdiff_t>(have);
  std::vector<Fd> taken(std::make_move_iterator(received_descriptors_.begin()),
                        std::make_move_iterator(end));
  received_descriptors_.erase(received_descriptors_.begin(), end);
  return taken;
}

bool Connection::take_preface() {
  if (in_.pending().size() < token_.size()) return false;
  if (!same_token(in_.pending().substr(0, token_.size()), token_)) {
    close();
    return false;
  }
  in_.consume(token_.size());
  preface_ = Preface::none;
  return true;
}

void Connection::handle(const guest::Frame& frame) {
  if (auto done = dispatch(frame); !done) send_error(frame.channel, done.error());
}

Result<> Connection::dispatch(const guest::Frame& frame) {
  using guest::FrameType;
  if (!greeted_ && frame.type != FrameType::hello) {
    return Error(Code::invalid_argument, "the first frame must be a hello");
  }
  switch (frame.type) {
    case FrameType::hello: {
      TRY(auto hello, guest::decode_hello(frame.body));
      if (hello.version < guest::kOldestProtocolVersion)
        return Error(Code::unsupported, "unknown protocol version");
      greeted_ = true;
      processes_.was_greeted();
      const uint32_t version = std::min(hello.version, guest::kProtocolVersion);
      send_ok(frame.channel, guest::encode(guest::HelloOk{version, ATOLL_VERSION}));
      return {};
    }
    case FrameType::renew: {
      TRY(const auto message, guest::decode_renew(frame.body));
      jail_.renew(message.expires_at);
      send_ok(frame.channel);
      return {};
    }
    case FrameType::rest:
      send_ok(frame.channel);
      wants_rest_ = true;
      return {};
    case FrameType::become:
      TRY_OK(become(frame.body));
      send_ok(frame.channel);
      return {};
    case FrameType::clock: {
      ByteWriter words;
      words.i64(system_clock().boot().count());
      send_ok(frame.channel, words.bytes());
      return {};
    }
    case FrameType::hand_over: {
      TRY(auto message, guest::decode_hand_over(frame.body));
      TRY_OK(jail_.hand_over(std::move(message)));
      processes_.expect_commands();
      send_ok(frame.channel);
      return {};
    }
    case FrameType::exec: {
      TRY(auto request, guest::decode_exec(frame.body));
      std::vector<Fd> stdio;
      if (request.direct) stdio = take_descriptors(3);
      TRY(auto started,
          processes_.start(*this, frame.channel, std::move(request), std::move(stdio)));
      static_cast<void>(started);  // announced by the table, before any output
      return {};
    }
    case FrameType::tool: {
      TRY(const auto request, guest::decode_tool(frame.body));
      return processes_.start_tool(*this, frame.channel, request);
    }
    case FrameType::attach: {
      TRY(auto request, guest::decode_attach(frame.body));
      TRY(auto started, processes_.attach(*this, frame.channel, request));
      static_cast<void>(started);
      return {};
    }
    case FrameType::detach:
      if (!tunnels_.close(frame.channel)) processes_.detach(*this, frame.channel);
      return {};
    case FrameType::credit: {
      ByteReader reader(frame.body);
      const uint64_t bytes = reader.u64();
      TRY_OK(reader.finish());
      if (!tunnels_.add_credit(frame.channel, bytes))
        processes_.add_credit(*this, frame.channel, bytes);
      return {};
    }
    case FrameType::stdin_data: {
      TRY(auto data, guest::decode_stdin(frame.body));
      processes_.write_stdin(*this, frame.channel, data);
      return {};
    }
    case FrameType::stdin_close: {
      TRY(auto data, guest::decode_stdin(frame.body));
      TRY_OK(processes_.close_stdin(data.process));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::signal: {
      TRY(auto request, guest::decode_signal(frame.body));
      TRY_OK(processes_.signal(request.process, static_cast<int>(request.number)));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::resize: {
      TRY(auto request, guest::decode_resize(frame.body));
      TRY_OK(processes_.resize(request));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::dial: {
      TRY(auto request, guest::decode_dial(frame.body));
      // Without a network of its own the port would be the host's.
      if (!jail_.is_box()) return Error(Code::unsupported, "this sandbox has no ports of its own");
      return tunnels_.dial(frame.channel, request);
    }
    case FrameType::tunnel_write: {
      TRY(auto data, guest::decode_tunnel_data(frame.body));
      return tunnels_.write(frame.channel, data);
    }
    case FrameType::tunnel_finish: {
      TRY(auto data, guest::decode_tunnel_data(frame.body));
      TRY_OK(tunnels_.finish(data.channel));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::processes:
      send_ok(frame.channel, guest::encode(processes_.rows()));
      return {};
    case FrameType::end_processes:
      if (const int left = processes_.end_all(); left > 0) {
        return Error(Code::internal, std::to_string(left) + " processes do not end");
      }
      send_ok(frame.channel);
      return {};
    case FrameType::stats:
      send_ok(frame.channel, guest::encode(processes_.stats()));
      return {};
    case FrameType::stat: {
      TRY(auto request, guest::decode_path(frame.body));
      TRY(auto entry, files_.stat(request.path));
      send_ok(frame.channel, guest::encode(std::vector{std::move(entry)}));
      return {};
    }
    case FrameType::list: {
      TRY(auto request, guest::decode_path(frame.body));
      TRY(auto entries, files_.list(request.path, request.limit));
      send_ok(frame.channel, guest::encode(entries));
      return {};
    }
    case FrameType::diff: {
      TRY(auto request, guest::decode_diff(frame.body));
      TRY(auto page, diff(jail_.copies(), jail_.roots(), jail_.workspace(), request));
      send_ok(frame.channel, guest::encode(page));
      return {};
    }
    case FrameType::open_read: {
      TRY(auto request, guest::decode_path(frame.body));
      TRY(auto opened, files_.open_read(request.path));
      send_ok(frame.channel, guest::encode(opened));
      return {};
    }
    case FrameType::read: {
      TRY(auto request, guest::decode_read(frame.body));
      std::string bytes;
      TRY_OK(files_.read(request, bytes));
      send_ok(frame.channel, bytes);
      return {};
    }
    case FrameType::open_write: {
      TRY(auto request, guest::decode_path(frame.body));
      processes_.was_changed(request.path);
      TRY(auto opened, files_.open_write(request));
      send_ok(frame.channel, guest::encode(opened));
      return {};
    }
    case FrameType::resume_write: {
      TRY(const auto request, guest::decode_resume_write(frame.body));
      processes_.was_changed(request.file.path);
      TRY(auto opened, files_.resume_write(request));
      send_ok(frame.channel, guest::encode(opened));
      return {};
    }
    case FrameType::write: {
      TRY(auto request, guest::decode_write(frame.body));
      TRY_OK(files_.write(request));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::commit: {
      TRY(auto handle, guest::decode_handle(frame.body));
      TRY(auto entry, files_.commit(handle));
      send_ok(frame.channel, guest::encode(std::vector{std::move(entry)}));
      return {};
    }
    case FrameType::close_file: {
      TRY(auto handle, guest::decode_handle(frame.body));
      files_.close(handle);
      send_ok(frame.channel);
      return {};
    }
    case FrameType::mkdir: {
      TRY(auto request, guest::decode_path(frame.body));
      processes_.was_changed(request.path);
      TRY_OK(files_.mkdir(request));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::move: {
      TRY(auto request, guest::decode_move(frame.body));
      processes_.was_changed(request.from);
      processes_.was_changed(request.to);
      TRY_OK(files_.move(request));
      send_ok(frame.channel);
      return {};
    }
    case FrameType::remove: {
      TRY(auto request, guest::decode_path(frame.body));
      processes_.was_changed(request.path);
      TRY_OK(files_.remove(request));
      send_ok(frame.channel);
      return {};
    }
    default:
      return Error(Code::invalid_argument, "a frame that only the agent sends");
  }
}

// What restored us has given us rights anew.
Result<> Connection::become(std::string_view words) {
  ByteReader reader(words);
  const std::string_view config = reader.text();
  const std::string_view facts = reader.text();
  TRY_OK(reader.finish());
  if (facts.size() < native::kTokenBytes)
    return Error(Code::invalid_argument, "the agent's token is cut short");
  TRY(auto told, native::decode_agent_config(config));
  TRY(auto around, native::decode_box_facts(facts.substr(native::kTokenBytes)));
  TRY_OK(check_rights());
  told.env.merge(image_environment());
  jail_.take_up(std::move(told), std::move(around));
  has_become_ = true;
  return {};
}

void Connection::send(guest::FrameType type, uint32_t channel, std::string_view body) {
  if (is_closed()) return;
  guest::append_frame(out_, type, channel, body);
  unhurried_until_ = Micros(0);
  if (out_.size() - out_begin_ > kMostQueued) close();
}

void Connection::send_soon(guest::FrameType type, uint32_t channel, std::string_view body) {
  const bool is_first = out_begin_ == out_.size() || unhurried_until_.count() > 0;
  const Micros until =
      unhurried_until_.count() > 0 ? unhurried_until_ : system_clock().boot() + kSoon;
  send(type, channel, body);
  if (is_first) unhurried_until_ = until;
}

void Connection::send_error(uint32_t channel, const Error& error) {
  send(guest::FrameType::error, channel, guest::encode_error(error));
}

void Connection::send_output(uint32_t channel, int stream, uint64_t offset,
                             std::string_view bytes) {
  if (is_closed()) return;
  const std::string piece = guest::encode_output_header(static_cast<uint8_t>(stream + 1), offset);
  unhurried_until_ = Micros(0);
  guest::append_header(out_, guest::FrameType::output, channel, piece.size() + bytes.size());
  out_ += piece;

  iovec parts[2] = {{out_.data() + out_begin_, out_.size() - out_begin_},
                    {const_cast<char*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t result =
      waits_for_write_ ? -1 : sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  const size_t sent = result > 0 ? static_cast<size_t>(result) : 0;
  const size_t queued = out_.size() - out_begin_;
  if (sent >= queued) {
    bytes.remove_prefix(sent - queued);
    out_.clear();
    out_begin_ = 0;
  } else {
    out_begin_ += sent;
  }
  drop_sent();
  out_ += bytes;
}

// What has been sent must not pile up in front of what waits.
void Connection::drop_sent() {
  if (out_begin_ < kHighWater / 4) return;
  out_.erase(0, out_begin_);
  out_begin_ = 0;
}

bool Connection::has_room() const { return out_.size() - out_begin_ < kHighWater; }

void Connection::flush() {
  if (unhurried_until_.count() > 0 && system_clock().boot() < unhurried_until_) return;
  unhurried_until_ = Micros(0);
  while (!is_closed() && out_begin_ < out_.size()) {
    auto sent = os::send_some(socket_.get(), std::string_view(out_).substr(out_begin_));
    if (!sent) {
      if (sent.error().os_errno() == EAGAIN) break;
      close();
      return;
    }
    out_begin_ += *sent;
  }
  if (is_closed()) return;
  const bool empty = out_begin_ == out_.size();
  if (empty) {
    out_.clear();
    out_begin_ = 0;
    if (out_.capacity() > 2 * kHighWater) out_.shrink_to_fit();
  }
  drop_sent();
  want_write(!empty);
}

void Connection::want_write(bool wanted) {
  if (wanted == waits_for_write_) return;
  waits_for_write_ = wanted;
  if (!poller_.change(socket_.get(), wanted ? EPOLLIN | EPOLLOUT : EPOLLIN)) close();
}

void Connection::close() {
  if (is_closed()) return;
  poller_.remove(socket_.get());
  socket_.close();
}

}  // namespace atl::agent
