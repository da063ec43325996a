// The event log: what becomes of sandboxes and of drivers, told to whoever listens, from any point
// that it still keeps.
//
// Events are numbered from 1 within the life of a daemon, which its `epoch` names. The last
// kMostEvents are kept; whoever asks for older ones is told how many are missing. A new daemon
// begins a new epoch: what happened between the two is in the list of sandboxes, not here.
//
// Lives on the core loop.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "core/engine.h"

namespace atl {

struct SandboxRecord;
enum class Lifecycle : uint8_t;

// A sandbox went from one state to another, or something happened to a driver.
struct SandboxEvent {
  uint64_t number = 0;
  WallTime at{};
  std::string tenant;
  std::string owner;
  std::string sandbox;
  std::string name;
  std::string driver;
  State from = State::pending;
  State to = State::pending;
  std::optional<Health>
      health;  // of an event that tells only of this: `from` and `to` are the same
  bool is_run = false;
  std::string reason;                    // why it failed or ended, where that needs words
  std::optional<size_t> queue_position;  // of one that begins to wait for its turn
  std::optional<Progress> progress;      // of one that is being made, and takes its time
  // Of an event that is about a driver and no sandbox: "down", "healthy", "circuit_open" …
  std::string driver_change = {};

  bool is_of_driver() const { return !driver_change.empty(); }
};

class EventLog final {
 public:
  static constexpr size_t kMostEvents = 20'000;

  EventLog(const asio::any_io_executor& executor, const Clock& clock);

  const std::string& epoch() const { return epoch_; }
  uint64_t last() const { return last_; }

  void add(const SandboxRecord& record, State from);
  // It is nowhere yet but in the queue: pending, and pending it stays.
  void add_waiting(const SandboxView& view, Lifecycle lifecycle, size_t position);
  void add_driver(std::string driver, std::string change, std::string reason);
  // What takes its time while it is made has gone on.
  void add_progress(const SandboxRecord& record, Progress progress);
  // Its health has changed, and its state has not.
  void add_health(const SandboxRecord& record);

  struct Page {
    std::vector<std::shared_ptr<const SandboxEvent>> events;
    uint64_t lost = 0;  // so many came after the point asked for and are no longer kept
  };
  // The first `most` after number `after`.
  Page after(uint64_t number, size_t most) const;

  // Returns once there is something after `number`, or somebody calls wake();
  // Code::deadline_exceeded when neither came in time.
  Task<> wait_beyond(uint64_t number, Millis patience);
  // Everybody who waits looks again: one of them need not wait any more.
  void wake();

 private:
  void keep(SandboxEvent event);
  void keep(SandboxEvent event, const SandboxRecord& record);

  asio::any_io_executor executor_;
  const Clock& clock_;
  std::string epoch_;
  uint64_t last_ = 0;
  std::deque<std::shared_ptr<const SandboxEvent>> kept_;
  std::shared_ptr<Event> next_;  // fires with the next event; null while nobody waits
};

}  // namespace atl
