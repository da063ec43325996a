// What a snapshot is to a driver: kept under an id that core has chosen, until it is dropped.
#pragma once

#include <cstdint>
#include <string>

#include <boost/describe/enum.hpp>

namespace atl {

enum class SnapshotKind : uint8_t {
  disk,    // files
  memory,  // processes and their memory, too
};
BOOST_DESCRIBE_ENUM(SnapshotKind, disk, memory)

struct SnapshotRequest {
  std::string id;
  SnapshotKind kind = SnapshotKind::disk;
  std::string home = {};  // the sandbox's; see SandboxSpec
};

// What became of it, as read back from where it lies.
struct SnapshotFacts {
  uint64_t bytes = 0;
  uint64_t left_out = 0;  // files that could not be read, or are no files
};

}  // namespace atl
