#include "guest/agent_connection.h"

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "guest/protocol.h"
#include "os/socket.h"

namespace atl::guest {
namespace {

// Most sandboxes say little, and there are thousands; one that fills the buffer gets a larger one.
constexpr size_t kReadAtFirst = 16 * 1024;
constexpr size_t kReadAtMost = 512 * 1024;
constexpr auto kAnswerPatience = std::chrono::seconds(60);
constexpr auto kHelloPatience = std::chrono::seconds(10);

Error gone() {
  return Error(Code::unavailable, "the sandbox's agent does not answer")
      .with_hint("the sandbox may have ended; look at its state");
}

}  // namespace

AgentConnection::AgentConnection(asio::any_io_executor executor, net::StreamPtr stream)
    : executor_(executor), stream_(std::move(stream)), writable_(executor) {
  writable_.set();
}

AgentConnection::~AgentConnection() { stream_->close(); }

Task<std::shared_ptr<AgentConnection>> AgentConnection::open(asio::any_io_executor executor,
                                                             net::StreamPtr stream) {
  std::shared_ptr<AgentConnection> connection(new AgentConnection(executor, std::move(stream)));
  connection->stream_->set_read_deadline(std::chrono::steady_clock::now() + kHelloPatience);
  spawn(executor, connection->read_loop());
  auto answer = co_await connection->call(FrameType::hello, encode(Hello{kProtocolVersion}));
  if (!answer) {
    connection->close();
    co_return std::move(answer).error().with("greeting the agent");
  }
  auto hello = decode_hello_ok(*answer);
  if (!hello || hello->version < kOldestProtocolVersion || hello->version > kProtocolVersion) {
    connection->close();
    co_return Error(Code::unavailable, "the sandbox's agent speaks another protocol")
        .with_hint("it was made by another version of Atoll: remove it, and make it anew");
  }
  connection->stream_->set_read_deadline(std::nullopt);
  co_return connection;
}

void AgentConnection::close() {
  if (!open_) return;
  open_ = false;
  stream_->close();
  writable_.set();
  for (auto& [number, channel] : channels_) channel->arrived.set();
}

Task<> AgentConnection::read_loop() {
  // Held while it runs: whoever drops the connection closes it first, which ends the loop.
  const auto self = shared_from_this();
  size_t room = kReadAtFirst;
  while (open_) {
    char* const space = in_.prepare(room);
    auto got = co_await stream_->read_some(space, room);
    if (!got || *got == 0) break;
    in_.commit(*got);
    if (*got == room) room = std::min(room * 4, kReadAtMost);
    bool broken = false;
    for (;;) {
      auto frame = in_.next();
      if (!frame || (*frame && !dispatch(**frame))) {
        broken = true;
        break;
      }
      if (!*frame) break;
    }
    if (broken) break;
  }
  close();
  co_return Result<>();
}

Result<> AgentConnection::dispatch(const Frame& frame) {
  const auto found = channels_.find(frame.channel);
  if (found == channels_.end()) return {};  // an answer that nobody waits for any more
  Channel& channel = *found->second;
  if (frame.type == FrameType::output) {
    const uint64_t bytes = frame.body.size() - std::min(frame.body.size(), kOutputPieceHeader);
    if (bytes > channel.credit)
      return Error(Code::invalid_argument, "the agent sends more than it was granted");
    channel.credit -= bytes;
  } else if (channel.messages.size() > 1024) {
    return Error(Code::invalid_argument, "the agent sends without being asked");
  }
  channel.messages.push_back({frame.type, std::string(frame.body)});
  channel.arrived.set();
  return {};
}

uint32_t AgentConnection::open_channel(uint64_t credit) {
  while (next_channel_ == 0 || channels_.contains(next_channel_)) ++next_channel_;
  auto channel = std::make_shared<Channel>(executor_);
  channel->credit = credit;
  channels_[next_channel_] = std::move(channel);
  return next_channel_++;
}

void AgentConnection::close_channel(uint32_t channel) { channels_.erase(channel); }

Task<> AgentConnection::flush() {
  const auto self = shared_from_this();
  while (open_ && !out_.empty()) {
    std::string bytes;
    bytes.swap(out_);
    auto written = co_await stream_->write_all(bytes);
    if (!written) close();
  }
  flushing_ = false;
  writable_.set();
  co_return Result<>();
}

void AgentConnection::post(FrameType type, uint32_t channel, std::string body) {
  if (!open_) return;
  append_frame(out_, type, channel, body);
  if (flushing_) return;
  flushing_ = true;
  writable_.reset();
  spawn(executor_, flush());
}

Task<> AgentConnection::send(FrameType type, uint32_t channel, std::string body,
                             std::vector<Fd> descriptors) {
  const auto self = shared_from_this();
  if (body.size() > kLargestBody)
    co_return Error(Code::too_large, "the request is larger than 1 MiB");
  while (open_ && flushing_) co_await writable_.wait();
  if (!open_) co_return gone();

  std::string bytes;
  bytes.reserve(kFrameHeader + body.size());
  append_frame(bytes, type, channel, body);
  flushing_ = true;
  writable_.reset();
  Result<> written;
  if (descriptors.empty()) {
    written = co_await stream_->write_all(bytes);
  } else {
    std::vector<int> numbers;
    numbers.reserve(descriptors.size());
    for (const auto& descriptor : descriptors) numbers.push_back(descriptor.get());
    auto sent = os::send_some(stream_->native_handle(), bytes, numbers);
    if (!sent) {
      written = std::move(sent).error();
    } else {
      const std::string_view rest = std::string_view(bytes).substr(*sent);
      written = co_await stream_->write_all(rest);
    }
  }
  if (!written) close();
  auto flushed = co_await flush();  // what was posted meanwhile
  static_cast<void>(flushed);       // a failure has closed the connection
  if (!written) co_return gone();
  co_return Result<>();
}

Task<Message> AgentConnection::receive(uint32_t number) {
  const auto found = channels_.find(number);
  if (found == channels_.end()) co_return Error(Code::internal, "no such channel");
  const auto channel = found->second;
  while (channel->messages.empty() || channel->interrupted) {
    if (channel->interrupted)
      co_return Error(Code::cancelled, "nobody follows the process any more");
    if (!open_) co_return gone();
    channel->arrived.reset();
    co_await channel->arrived.wait();
  }
  Message message = std::move(channel->messages.front());
  channel->messages.pop_front();
  co_return message;
}

Task<Message> AgentConnection::receive_answer(uint32_t number) {
  const auto found = channels_.find(number);
  if (found == channels_.end()) co_return Error(Code::internal, "no such channel");
  const auto channel = found->second;
  const auto deadline = std::chrono::steady_clock::now() + kAnswerPatience;
  while (channel->messages.empty()) {
    if (!open_) co_return gone();
    channel->arrived.reset();
    const bool in_time = co_await channel->arrived.wait_until(deadline);
    if (!in_time && channel->messages.empty())
      co_return Error(Code::deadline_exceeded, "the sandbox's agent did not answer in time");
  }
  Message message = std::move(channel->messages.front());
  channel->messages.pop_front();
  co_return message;
}

void AgentConnection::interrupt(uint32_t number) {
  const auto found = channels_.find(number);
  if (found == channels_.end()) return;
  found->second->interrupted = true;
  found->second->arrived.set();
}

void AgentConnection::grant(uint32_t number, uint64_t bytes) {
  const auto found = channels_.find(number);
  if (found == channels_.end()) return;
  found->second->credit += bytes;
  ByteWriter writer;
  writer.u64(bytes);
  post(FrameType::credit, number, std::move(writer).bytes());
}

Task<std::string> AgentConnection::call(FrameType type, std::string body) {
  const auto self = shared_from_this();
  const uint32_t number = open_channel(0);
  auto sent = co_await send(type, number, std::move(body));
  Result<Message> answer = Error(Code::internal, "nothing was asked");
  if (sent) answer = co_await receive_answer(number);
  close_channel(number);
  if (!sent) co_return std::move(sent).error();
  if (!answer) co_return std::move(answer).error();
  if (answer->type == FrameType::ok) co_return std::move(answer->body);
  if (answer->type != FrameType::error)
    co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
  auto error = decode_error(answer->body);
  if (!error) co_return std::move(error).error();
  co_return std::move(*error);
}

}  // namespace atl::guest
