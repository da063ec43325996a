// The files of a daemon's sandbox: one file, or a directory with all that is in it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/tar.h"
#include "cli/client.h"
#include "driver/guest.h"
#include "json/value.h"

namespace atl::cli {

struct RemoteEntry {
  std::string name;
  FileKind kind = FileKind::other;
  uint64_t size = 0;
  uint32_t mode = 0;  // permission bits
  std::string link_target;
};

// The bytes of a member: "name", or "name_b64" for what is not UTF-8.
Result<std::string> bytes_at(const json::Value& value, const std::string& name);

// Called with the number of bytes that have gone through since the last time.
using OnBytes = std::function<void(uint64_t bytes)>;

class RemoteFiles final {
 public:
  RemoteFiles(Client& client, std::string sandbox)
      : client_(client), sandbox_(std::move(sandbox)) {}

  // Nullopt when there is nothing of that name.
  Result<std::optional<RemoteEntry>> find(const std::string& path);
  // Reads `fd` to its end. A size that is known lets a file that shrinks meanwhile fail instead of
  // arriving cut.
  Result<> upload(int fd, std::optional<uint64_t> size, const std::string& path, uint32_t mode,
                  const OnBytes& on_bytes);
  // The same for a large file: a connection that breaks is made anew, and what has come stays. Who
  // starts again with the same file goes on as well.
  Result<> upload_in_parts(int fd, const std::string& path, const struct stat& info,
                           const OnBytes& on_bytes);
  // Goes on where a broken connection left off, as long as the file stays the same.
  Result<> download(const std::string& path, int fd, const OnBytes& on_bytes);

  // A directory as an archive; `fd` gives it, `reader` takes it.
  Result<> upload_archive(int fd, const std::string& path, const OnBytes& on_bytes);
  Result<> download_archive(const std::string& path, TarReader& reader, const OnBytes& on_bytes);

 private:
  std::string target(std::string_view what, const std::string& path) const;

  Client& client_;
  std::string sandbox_;
};

}  // namespace atl::cli
