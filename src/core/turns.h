// Turns: whoever wants to change a sandbox waits for its turn, first come, first served;
// destruction goes first.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "base/event.h"
#include "base/task.h"

namespace atl {

// Held while changing the sandbox; giving it up lets the next one in.
class Turn final {
 public:
  class Line;
  explicit Turn(std::shared_ptr<Line> line) : line_(std::move(line)) {}
  Turn(Turn&& other) noexcept = default;
  Turn& operator=(Turn&&) = delete;
  ~Turn();

 private:
  std::shared_ptr<Line> line_;
};

class Turns final {
 public:
  explicit Turns(const asio::any_io_executor& executor);

  Task<Turn> take();
  // Before everybody who waits; those are sent away with `why`.
  Task<Turn> take_before_all(Error why);
  bool is_taken() const;
  size_t waiting() const;

 private:
  std::shared_ptr<Turn::Line> line_;
};

}  // namespace atl
