// What the two arguments of `atoll cp` mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::cli {

struct CopyPlan {
  enum class Direction : uint8_t { upload, download };

  Direction direction = Direction::upload;
  std::string sandbox;
  std::string remote;  // path in the sandbox
  std::string local;   // path here; "-" = stdin or stdout
};

// One side is BOX:PATH, the other a path of this host. A path with a colon in it is written
// ./with:colon.
Result<CopyPlan> plan_copy(std::string_view source, std::string_view target);

// Where a copy of `source` goes: into `target` if that is a directory or is written like one, else
// onto it.
std::string place_in(std::string_view target, std::string_view source, bool target_is_directory);

// "a/b/c" → "c"; "a/b/" → "b"; "." and "/" have none.
std::string last_name(std::string_view path);

}  // namespace atl::cli
