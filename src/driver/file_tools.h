// Files as a guest tells of them, and the tools that look at many of them at once: search, watch,
// archives.
//
// Tools run inside the sandbox, with its user, limits and policy; what they say is as untrusted as
// what any other command says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <boost/describe/enum.hpp>

#include "base/clock.h"
#include "base/task.h"

namespace atl {

enum class FileKind : uint8_t { file, directory, symlink, other };
BOOST_DESCRIBE_ENUM(FileKind, file, directory, symlink, other)

struct FileInfo {
  std::string name;  // the last part of its path; bytes, not always UTF-8
  std::string path;  // as the sandbox sees it
  FileKind kind = FileKind::file;
  uint64_t size = 0;
  uint32_t mode = 0;  // permission bits
  uint32_t uid = 0, gid = 0;
  WallTime modified_at{};
  std::string link_target;  // of a symlink
  uint64_t version = 0;     // another one whenever the file has changed; 0 = not known
};

struct FindRequest {
  std::string path;  // a directory, or a file
  std::string name;  // a pattern as a shell's, for the last part of a path; "" = any
  std::optional<FileKind> kind;
  std::optional<uint64_t> depth;  // 1 = only what is in the directory itself
  uint64_t limit = 1000;
  Millis timeout{30'000};
};

struct GrepRequest {
  std::string path;
  std::string pattern;  // a POSIX extended regular expression, by bytes
  bool fixed = false;   // it is plain text instead
  bool ignore_case = false;
  std::string include;  // only files whose names match this, as a shell's
  uint64_t limit = 1000;
  Millis timeout{30'000};
};

struct WatchRequest {
  std::string path;  // a directory
  bool recursive = false;
};

struct PackRequest {
  std::string path;
  bool all_links = false;  // also those that lead outside, which are left out otherwise
  Millis timeout{0};       // zero = as long as it takes
};

struct UnpackRequest {
  std::string path;                 // a directory that is there
  std::optional<uint64_t> entries;  // at most so many; tell each of them
  bool all_links = false;           // also those that lead outside, which are refused otherwise
};

using ToolRequest =
    std::variant<FindRequest, GrepRequest, WatchRequest, PackRequest, UnpackRequest>;

struct LineMatch {
  std::string path;
  uint64_t line = 0;
  std::string text;
  bool cut = false;  // the line goes on
};

enum class FileEventKind : uint8_t { created, modified, deleted, moved, overflow };
BOOST_DESCRIBE_ENUM(FileEventKind, created, modified, deleted, moved, overflow)

// After an overflow what is below its path is to be looked at anew: something was missed there, or
// nobody watches it.
struct FileEvent {
  FileEventKind event = FileEventKind::created;
  FileKind kind = FileKind::file;
  std::string path;
  std::string from;  // of what was moved
};

struct ArchivePiece {
  std::string bytes;
};

struct UnpackedFile {
  std::string path;
  FileKind kind = FileKind::file;
  uint64_t size = 0;
};

// Every change from now on is told.
struct ToolReady {};

// The last thing that a tool says.
struct ToolEnd {
  uint64_t seen = 0;
  uint64_t told = 0;
  uint64_t skipped = 0;  // could not be read
  uint64_t bytes = 0;
  bool more = false;  // a limit was reached
};

using ToolEvent =
    std::variant<FileInfo, LineMatch, FileEvent, ArchivePiece, UnpackedFile, ToolReady, ToolEnd>;

// One tool at work; it ends with its handle.
class FileTool {
 public:
  virtual ~FileTool() = default;
  // ToolEnd is the last; asking further is an error. What is not asked for slows the tool down.
  virtual Task<ToolEvent> next() = 0;
  // Makes a next() that waits, and every later one, answer Code::cancelled.
  virtual void interrupt() = 0;
  // An archive to be unpacked. Fails once the tool has seen enough; next() then says why.
  virtual Task<> write(std::string bytes) = 0;
  virtual Task<> finish() = 0;
};

}  // namespace atl
