#include "tests/support/temp_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/check.h"
#include "os/file.h"

namespace atl::test {

TempDirectory::TempDirectory(const std::string& parent) : path_(parent + "/atoll-test-XXXXXX") {
  ATOLL_CHECK(mkdtemp(path_.data()) != nullptr);
  ATOLL_CHECK(chmod(path_.c_str(), 0711) == 0);
}

TempDirectory::~TempDirectory() {
  if (auto removed = os::remove_tree(AT_FDCWD, path_); !removed) {
    std::fprintf(stderr, "left behind: %s: %s\n", path_.c_str(), removed.error().message().c_str());
  }
}

}  // namespace atl::test
