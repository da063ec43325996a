// Connections from outside to a port of the sandbox, carried over a client's connection to the
// agent.
//
// Only to the sandbox's own loopback, and only in a sandbox that has a network of its own: anywhere
// else a port would be the host's. What comes from the service waits until the client has granted
// credit, what comes from the client until the service has taken it; so memory is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "guest/protocol.h"
#include "os/poller.h"

namespace atl::agent {

class Connection;

class Tunnels final {
 public:
  Tunnels(os::Poller& poller, Connection& connection) : poller_(poller), connection_(connection) {}
  ~Tunnels();

  // Answered on `channel`: `started` when the service has accepted, or an error. Then `output` as
  // credit allows, and an empty `ok` when the service says no more.
  Result<> dial(uint32_t channel, const guest::Dial& request);
  // Answered on `answer` when the service has taken it all.
  Result<> write(uint32_t answer, const guest::TunnelData& data);
  // No more comes from the client.
  Result<> finish(uint32_t channel);
  // False if the channel is no tunnel's.
  bool add_credit(uint32_t channel, uint64_t bytes);
  bool close(uint32_t channel);
  // The client reads again.
  void pump();

 private:
  struct Pending {
    uint32_t answer = 0;
    std::string bytes;
    size_t written = 0;
  };
  struct Tunnel {
    Fd socket;
    uint32_t channel = 0;
    bool connecting = true;
    bool tries_ipv6 = false;
    uint16_t port = 0;
    uint32_t watched = 0;  // events
    uint64_t credit = 0;
    uint64_t offset = 0;
    bool read_ended = false;
    bool write_ends = false;  // once `pending` is empty
    std::deque<Pending> pending;
  };

  Result<Fd> connect_to(uint16_t port, bool ipv6) const;
  void on_ready(uint32_t channel, uint32_t events);
  void on_connected(Tunnel& tunnel);
  void read_some(Tunnel& tunnel);
  void flush(Tunnel& tunnel);
  void watch(Tunnel& tunnel);
  void fail(Tunnel& tunnel, const Error& error);
  Tunnel* find(uint32_t channel);

  os::Poller& poller_;
  Connection& connection_;
  std::map<uint32_t, std::unique_ptr<Tunnel>> tunnels_;
};

}  // namespace atl::agent
