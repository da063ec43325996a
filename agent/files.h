// The file service: every path that a client names, resolved by the kernel beneath one of the
// sandbox's roots.
//
// Links are followed only as long as they stay inside (openat2, RESOLVE_BENEATH); the last part of
// a path that is to be made, replaced or removed is never followed at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "guest/protocol.h"

namespace atl::agent {

// A directory that paths may begin with.
struct FileRoot {
  std::string path;    // as clients write it, without a trailing slash
  int directory = -1;  // not owned
  bool writable = false;
  bool is_whole = false;  // the sandbox's own root: links are followed inside it
};

// Whose files the service makes; who asks for them may read and write what root inside may.
struct FileOwner {
  uint32_t uid = 0, gid = 0;
  bool change = false;
  bool wholly = false;  // for a kernel that has no ids for files alone (gVisor's)
};

// A path taken apart: the root that it lies under, and the rest, relative.
struct Located {
  const FileRoot* root = nullptr;
  std::string relative;  // "." for the root itself
};

// Opens what was located, never outside of its root.
Result<Fd> open_located(const FileRoot& root, const std::string& relative, int flags);

enum class FileUse : uint8_t { read, change };

class FileRoots;

// A file or directory that somebody else goes on from; a root that is read-only is not changed.
Result<Fd> open_start(const FileRoots& roots, const std::string& path, FileUse use);

class FileRoots final {
 public:
  // Relative paths begin at `start` in the first root.
  explicit FileRoots(std::vector<FileRoot> roots, std::string start = "", FileOwner owner = {})
      : roots_(std::move(roots)), start_(std::move(start)), owner_(owner) {}

  Result<Located> locate(std::string_view path) const;
  const FileRoot& first() const { return roots_.front(); }
  const std::string& start() const { return start_; }
  const FileOwner& owner() const { return owner_; }

 private:
  std::vector<FileRoot> roots_;
  std::string start_;
  FileOwner owner_;
};

// The open files of one connection; they close with it, and an upload that was not committed leaves
// nothing.
class FileService final {
 public:
  explicit FileService(const FileRoots& roots) : roots_(roots) {}
  ~FileService();

  Result<guest::Entry> stat(const std::string& path) const;
  Result<std::vector<guest::Entry>> list(const std::string& path, size_t most) const;
  Result<> mkdir(const guest::Path& request) const;
  Result<> move(const guest::Move& request) const;
  Result<> remove(const guest::Path& request) const;

  Result<guest::OpenedFile> open_read(const std::string& path);
  // Appends up to `most` bytes to `out`.
  Result<> read(const guest::ReadFile& request, std::string& out) const;
  Result<guest::OpenedFile> open_write(const guest::Path& request);
  // What is written stays when the file is closed, until it is committed.
  Result<guest::OpenedFile> resume_write(const guest::ResumeWrite& request);
  Result<> write(const guest::WriteFile& request) const;
  Result<guest::Entry> commit(uint32_t handle);
  void close(uint32_t handle);

 private:
  struct Upload {
    Fd parent;
    std::string temporary;
    std::string name;
    std::string path;
    bool keeps = false;  // what has come, for the next connection
    uint32_t mode = 0;   // set at the end
  };
  struct OpenFile {
    Fd fd;
    std::string path;
    Upload upload;  // parent is set for a file being written
  };

  void abandon(OpenFile& file) const;

  const FileRoots& roots_;
  uint32_t next_handle_ = 1;
  std::map<uint32_t, OpenFile> open_;
};

}  // namespace atl::agent
