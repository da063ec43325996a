// TreeArchive: a directory of the host as a tar archive, read a piece at a time.
//
// For trees that are ours: what is neither file, directory nor link is left out. Everything belongs
// to root in the archive. Blocks; links are never followed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"

namespace atl::drivers {

class TreeArchive final {
 public:
  explicit TreeArchive(Fd root) : root_(std::move(root)) {}

  // Some hundred kilobytes; "" after the end. Code::conflict if a file changes meanwhile.
  Result<std::string> next();

 private:
  struct Level {
    Fd directory;
    std::string path;  // "" = the root, otherwise with a last slash
    std::vector<std::string> names;
    size_t at = 0;
  };

  Result<> begin(Fd directory, std::string path);
  Result<> take(std::string& out);
  Result<> take_file(std::string& out);

  Fd root_;
  std::vector<Level> levels_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> linked_;  // first path of each inode
  Fd file_;
  uint64_t left_ = 0;     // of the file
  uint64_t padding_ = 0;  // after it
  bool has_begun_ = false;
  bool is_over_ = false;
};

// Read by a thread of its own, so that the loop goes on.
std::function<Task<std::string>()> archive_tree(asio::any_io_executor executor, Fd root);

}  // namespace atl::drivers
