// What the file tools of the agent say on their stdout, record by record.
//
//   u32 length of the rest | u8 kind | body
//
// A tool runs inside the sandbox, so whoever reads this trusts none of it: a record that is too
// long, of an unknown kind, or that does not add up ends the reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "guest/protocol.h"

namespace atl::guest {

constexpr size_t kLargestRecord = 128 * 1024;
// How much of an archive one record carries.
constexpr size_t kArchivePiece = 64 * 1024;

enum class RecordKind : uint8_t { found = 1, match, event, archive, unpacked, ready, end, failed };

// Paths are relative to where the tool was told to look; "" is that place itself.
struct Found {
  Entry entry;
};

struct Match {
  std::string path;
  uint64_t line = 0;
  std::string text;
  bool cut = false;  // the line goes on
};

enum class WatchedKind : uint8_t { created, modified, deleted, moved, overflow };

struct Watched {
  WatchedKind kind = WatchedKind::created;
  EntryKind file = EntryKind::other;
  std::string path;
  std::string from;  // of what was moved
};

struct Archive {
  std::string bytes;
};

struct Unpacked {
  std::string path;
  EntryKind kind = EntryKind::file;
  uint64_t size = 0;
};

struct Ready {};

struct End {
  uint64_t seen = 0;
  uint64_t told = 0;
  uint64_t skipped = 0;
  uint64_t bytes = 0;
  bool more = false;  // a limit was reached
};

struct Failed {
  Error error;
};

using Record = std::variant<Found, Match, Watched, Archive, Unpacked, Ready, End, Failed>;

std::string encode_record(const Record& record);

class RecordReader final {
 public:
  void put(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole one, or nothing yet.
  Result<std::optional<Record>> next();
  bool is_empty() const { return begin_ == bytes_.size(); }

 private:
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace atl::guest
