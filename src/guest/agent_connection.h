// One connection to an agent: requests and answers, and the output of followed processes,
// multiplexed by channel.
//
// Lives on the core loop. The agent is not trusted: what it sends beyond the granted credit, or
// against the rules of the frames, ends the connection.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "guest/frame.h"
#include "net/byte_stream.h"
#include "net/event.h"

namespace atl::guest {

struct Message {
  FrameType type{};
  std::string body;
};

// The frames that came for one request and were not taken yet.
struct Channel {
  explicit Channel(const asio::any_io_executor& executor) : arrived(executor) {}

  std::deque<Message> messages;
  net::Event arrived;
  uint64_t credit = 0;  // what the agent may still send
  bool interrupted = false;
};

class AgentConnection final : public std::enable_shared_from_this<AgentConnection> {
 public:
  // Says hello; the connection is usable when it returns.
  static Task<std::shared_ptr<AgentConnection>> open(asio::any_io_executor executor,
                                                     net::StreamPtr stream);
  ~AgentConnection();

  // Sends a request and waits for its one answer: the body of an ok, or the agent's error.
  Task<std::string> call(FrameType type, std::string body);

  // A channel that stays open for many answers, until close_channel.
  uint32_t open_channel(uint64_t credit);
  // With descriptors only where carries_descriptors().
  Task<> send(FrameType type, uint32_t channel, std::string body, std::vector<Fd> descriptors = {});
  // Without waiting: queued if the socket is full. For what must not be lost when a handle is
  // dropped.
  void post(FrameType type, uint32_t channel, std::string body);
  // The next frame on a channel; Code::unavailable once the connection is gone and nothing is left.
  Task<Message> receive(uint32_t channel);
  // The same, or Code::deadline_exceeded: for the one answer that a request has.
  Task<Message> receive_answer(uint32_t channel);
  // Whoever waits for this channel gets Code::cancelled, now and later.
  void interrupt(uint32_t channel);
  void grant(uint32_t channel, uint64_t bytes);
  void close_channel(uint32_t channel);

  bool is_open() const { return open_; }
  bool carries_descriptors() const { return stream_->native_handle() >= 0; }
  void close();

 private:
  AgentConnection(asio::any_io_executor executor, net::StreamPtr stream);

  Task<> read_loop();
  Result<> dispatch(const Frame& frame);
  Task<> flush();

  asio::any_io_executor executor_;
  net::StreamPtr stream_;
  FrameBuffer in_;
  std::string out_;
  bool flushing_ = false;
  bool open_ = true;
  uint32_t next_channel_ = 1;
  std::map<uint32_t, std::shared_ptr<Channel>> channels_;
  net::Event writable_;  // set while nobody flushes
};

}  // namespace atl::guest
