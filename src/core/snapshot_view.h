// A snapshot as callers of the engine see it: what is kept of a sandbox, and makes others.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/describe/enum.hpp>

#include "base/clock.h"
#include "driver/capabilities.h"
#include "driver/snapshot.h"
#include "driver/spec.h"

namespace atl {

enum class SnapshotState : uint8_t {
  making,    // its driver is at it; after a crash it is dropped
  ready,     // sandboxes can be made from it
  lost,      // its driver does not have it any more
  dropping,  // nobody sees it; it goes as soon as its driver lets it
};
BOOST_DESCRIBE_ENUM(SnapshotState, making, ready, lost, dropping)

struct SnapshotView {
  std::string id;
  std::string name;
  std::string tenant;
  std::string owner;  // the Caller::subject that made it
  SnapshotState state = SnapshotState::making;
  SnapshotKind kind = SnapshotKind::disk;
  std::string driver;
  std::string sandbox;  // that it was taken of, which may have ended
  Isolation isolation = Isolation::none;
  uint64_t bytes = 0;
  uint64_t left_out = 0;  // files that are not in it
  std::map<std::string, std::string> labels;
  Resources resources;        // of that sandbox, as the rest
  std::string template_name;  // "" = none
  std::string image;          // the same
  std::string runtime;
  std::string home;  // "" = the usual one
  Persistence persistence = Persistence::ephemeral;
  WallTime created_at{};
  std::string layer;          // of what it is one (core/layers.h); "" = it is somebody's
  std::string checkpoint_of;  // the name of the sandbox that has left it; "" = it is no checkpoint
  int64_t checkpoint = 0;     // its number among those; clocks may be set
  bool is_shared = false;     // it is one of those who shared the sandbox
};

// What is asked of a new one.
struct SnapshotAsk {
  std::string name;  // "" = none; unique per tenant
  SnapshotKind kind = SnapshotKind::disk;
  std::map<std::string, std::string> labels;
};

}  // namespace atl
