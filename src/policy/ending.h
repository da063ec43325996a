// How long a sandbox lives, and what becomes of one whose time is up, that nobody uses, or that has
// died.
#pragma once

#include <cstdint>

#include <boost/describe/enum.hpp>

namespace atl {

// How long it lives.
enum class Life : uint8_t {
  session,     // until its time is up, or whoever holds it lets go
  persistent,  // as long as the server
  workspace,   // as long as sessions of a workspace, of an agent or of the tenant hold it
  ephemeral,   // as long as a single command
};
BOOST_DESCRIBE_ENUM(Life, session, persistent, workspace, ephemeral)

// At the end of its time to live, or of its idle time.
enum class OnEnd : uint8_t {
  kill,   // nothing of it is left
  stop,   // its processes end, its files stay
  pause,  // its processes stand still
};
BOOST_DESCRIBE_ENUM(OnEnd, kill, stop, pause)

// When it dies, or does not answer any more.
enum class OnFailure : uint8_t {
  fail,      // it stays as it is, for somebody to look at
  recreate,  // fresh processes over its files, a few times
};
BOOST_DESCRIBE_ENUM(OnFailure, fail, recreate)

}  // namespace atl
