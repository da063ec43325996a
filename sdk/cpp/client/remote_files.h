// The files of a daemon's sandbox: one file, or a directory with all that is in it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/connection.h"
#include "json/value.h"

namespace atl::client {

enum class EntryKind : uint8_t { file, directory, symlink, other };

struct RemoteEntry {
  std::string name;
  std::string path;
  EntryKind kind = EntryKind::other;
  uint64_t size = 0;
  uint32_t mode = 0;  // permission bits
  std::string modified_at;
  std::string link_target;
  std::string etag;
};

// Gives the next bytes, at most `most`; 0 is the end.
using Source = std::function<Result<size_t>(char* into, size_t most)>;
Source source_from(int fd);
// Takes bytes; its first error ends the transfer.
using Sink = std::function<Result<>(std::string_view bytes)>;
// Called with the number of bytes that have gone through since the last time.
using OnBytes = std::function<void(uint64_t bytes)>;

enum class Links : uint8_t {
  inside,  // one that leads out of the directory is left out
  all,
};
enum class Depth : uint8_t { itself, tree };

class RemoteFiles final {
 public:
  RemoteFiles(Connection& connection, std::string sandbox)
      : connection_(&connection), sandbox_(std::move(sandbox)) {}

  Task<RemoteEntry> stat(std::string path);
  // Nullopt when there is nothing of that name.
  Task<std::optional<RemoteEntry>> find(std::string path);
  Task<std::vector<RemoteEntry>> list(std::string path);
  Task<> remove(std::string path, Depth depth);
  Task<> make_directory(std::string path);
  Task<> move(std::string from, std::string to);

  // Reads `source` to its end. A size that is known lets a file that shrinks meanwhile fail instead
  // of arriving cut.
  Task<> upload(Source source, std::optional<uint64_t> size, std::string path, uint32_t mode);
  // The same for a large file: a connection that breaks is made anew, and what has come stays. Who
  // starts again with the same file goes on as well.
  Task<> upload_in_parts(int fd, std::string path, struct stat info, OnBytes on_bytes);
  // Goes on where a broken connection left off, as long as the file stays the same.
  Task<> download(std::string path, Sink sink);

  // A directory as an archive; `source` gives it, `sink` takes it.
  Task<> upload_archive(Source source, std::string path);
  Task<> download_archive(std::string path, Links links, Sink sink);

 private:
  std::string target(std::string_view what, const std::string& path) const;

  Connection* connection_;
  std::string sandbox_;
};

}  // namespace atl::client
