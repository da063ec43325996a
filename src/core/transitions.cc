#include "core/transitions.h"

#include <initializer_list>

namespace atl {
namespace {

std::initializer_list<State> successors(State from) {
  switch (from) {
    case State::pending: {
      // To `stopping` when a later daemon finds it half made.
      static constexpr auto to = {State::starting, State::failed, State::stopping};
      return to;
    }
    case State::starting: {
      // To `stopped` and `paused` when a start or a recreate is undone.
      static constexpr auto to = {State::running, State::failed, State::stopped, State::paused,
                                  State::stopping};
      return to;
    }
    case State::running: {
      // To `starting` by recreate.
      static constexpr auto to = {State::paused, State::stopping, State::starting, State::failed};
      return to;
    }
    case State::paused: {
      static constexpr auto to = {State::running, State::stopping, State::starting, State::failed};
      return to;
    }
    case State::stopping: {
      // Back to `running` or `paused` when it could not be stopped.
      static constexpr auto to = {State::stopped, State::destroyed, State::running, State::paused,
                                  State::failed};
      return to;
    }
    case State::stopped: {
      static constexpr auto to = {State::starting, State::stopping, State::failed};
      return to;
    }
    case State::failed: {
      static constexpr auto to = {State::starting, State::stopping};
      return to;
    }
    case State::destroyed:
      break;
  }
  return {};
}

}  // namespace

bool is_legal(State from, State to) {
  for (const State next : successors(from)) {
    if (next == to) return true;
  }
  return false;
}

}  // namespace atl
