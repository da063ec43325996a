// One client of the agent: frames in, frames out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/files.h"
#include "agent/process_table.h"
#include "agent/tunnels.h"
#include "base/clock.h"
#include "base/fd.h"
#include "guest/frame.h"
#include "os/poller.h"

namespace atl::agent {

enum class Preface : uint8_t { none, token };

class Connection final {
 public:
  Connection(Fd socket, Preface preface, std::string token, os::Poller& poller, Jail& jail,
             ProcessTable& processes, std::function<void(Connection&)> on_closed);
  ~Connection();

  Result<> start();

  // Queues a frame; it leaves with flush() at the end of the loop's round, or earlier if much has
  // gathered.
  void send(guest::FrameType type, uint32_t channel, std::string_view body);
  // The same without hurry: it leaves with the next frame, or soon. Most commands are short, and
  // nobody need be woken twice for one.
  void send_soon(guest::FrameType type, uint32_t channel, std::string_view body);
  // When flush() has something to do by itself; zero = never.
  Micros next_deadline() const { return unhurried_until_; }
  void send_ok(uint32_t channel, std::string_view body = {}) {
    send(guest::FrameType::ok, channel, body);
  }
  void send_error(uint32_t channel, const Error& error);
  // Output straight from the ring, without a copy when the socket takes it.
  void send_output(uint32_t channel, int stream, uint64_t offset, std::string_view bytes);
  // False while the client reads slower than we write.
  bool has_room() const;
  void flush();
  bool is_closed() const { return !socket_; }
  bool was_greeted() const { return greeted_; }
  // Whoever is there wants everybody to be gone, and has been told that this will be so.
  bool wants_rest() const { return wants_rest_ && out_begin_ == out_.size(); }
  // Whoever is there has made the sandbox another one.
  bool has_become() const { return has_become_; }

 private:
  void on_ready(uint32_t events);
  void receive();
  void handle(const guest::Frame& frame);
  Result<> dispatch(const guest::Frame& frame);
  Result<> become(std::string_view words);
  bool take_preface();
  std::vector<Fd> take_descriptors(size_t count);
  void close();
  void want_write(bool wanted);
  void drop_sent();

  Fd socket_;
  Preface preface_;
  std::string token_;
  os::Poller& poller_;
  Jail& jail_;
  ProcessTable& processes_;
  FileService files_;
  Tunnels tunnels_;
  std::function<void(Connection&)> on_closed_;
  guest::FrameBuffer in_;
  size_t room_ = 4 * 1024;  // what is asked for at once; more once much comes
  std::vector<Fd> received_descriptors_;
  std::string out_;
  size_t out_begin_ = 0;
  bool greeted_ = false;
  bool wants_rest_ = false;
  bool has_become_ = false;
  bool waits_for_write_ = false;
  Micros unhurried_until_{0};  // zero = what is queued leaves at once
};

}  // namespace atl::agent
