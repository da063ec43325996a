// Directories of sandboxes that have ended, which the next ones get instead of new ones.
//
// ext4 gives no inode again within five seconds of its file's end, and looks at each one that has
// ended since whenever it looks for a free one: with hundreds of sandboxes a second that is a fifth
// of all work. Only the directory and its record serve again. The record names the sandbox it is
// of, so that nobody takes it for another one's, and is written over in place (record.cc).
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

class SpareDirectories final {
 public:
  // They lie in `run`, whose owner outlives this. What an earlier launcher left there goes.
  void open(int run);
  // Nothing of them is left: where there is no sandbox there is nothing of one.
  void clear();

  // Makes `name` in `boxes`, of a spare one if there is one.
  Result<> make(int boxes, const std::string& name);
  // Takes `name` of `boxes`, in which is a record and nothing else; false if it is not wanted.
  bool keep(int boxes, const std::string& name);

 private:
  int run_ = -1;
  Fd directory_;
  bool was_offered_ = false;
  std::vector<std::string> names_;
};

}  // namespace atl::native
