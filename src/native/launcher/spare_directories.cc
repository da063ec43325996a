#include "native/launcher/spare_directories.h"

#include <fcntl.h>
#include <stdio.h>

#include <utility>

#include "os/file.h"

namespace atl::native {
namespace {

constexpr size_t kMostKept = 32;
constexpr const char* kPlace = "spare";

}  // namespace

void SpareDirectories::open(int run) {
  run_ = run;
  static_cast<void>(os::remove_tree(run_, kPlace));
}

void SpareDirectories::clear() {
  if (!directory_) return;
  names_.clear();
  directory_.close();
  static_cast<void>(os::remove_tree(run_, kPlace));
}

Result<> SpareDirectories::make(int boxes, const std::string& name) {
  if (!names_.empty()) {
    const std::string spare = std::move(names_.back());
    names_.pop_back();
    // Over nothing that is there: as mkdir would.
    if (renameat2(directory_.get(), spare.c_str(), boxes, name.c_str(), RENAME_NOREPLACE) == 0)
      return {};
  }
  return os::make_directory(boxes, name, 0711);
}

bool SpareDirectories::keep(int boxes, const std::string& name) {
  // Most launchers of `atoll run` make one sandbox.
  if (!std::exchange(was_offered_, true) || names_.size() >= kMostKept) return false;
  if (!directory_ && os::make_directory(run_, kPlace, 0700)) {
    if (auto place = os::open_at(run_, kPlace, O_PATH | O_DIRECTORY | O_NOFOLLOW))
      directory_ = std::move(*place);
  }
  if (renameat(boxes, name.c_str(), directory_.get(), name.c_str()) != 0) return false;
  names_.push_back(name);
  return true;
}

}  // namespace atl::native
