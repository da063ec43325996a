// What a log line looks like, apart from where it goes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "telemetry/log.h"

namespace atl::telemetry {

struct Record {
  WallTime time;
  Level level;
  std::string_view message;
  std::span<const Field> fields;
};

// One whole line, with its newline, of at most kMostLineBytes.
std::string format_line(const Record& record, Format format);

inline constexpr size_t kMostLineBytes = 16 * 1024;

}  // namespace atl::telemetry
