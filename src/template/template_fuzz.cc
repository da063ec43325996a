// Arbitrary bytes as an archive of an image: nothing of it ever lands beside its tree.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "os/file.h"
#include "template/unpack.h"

namespace {

constexpr const char* kTree = "in/side/tree";

// Made once; the tree and the scratch are emptied after each.
const std::string& home() {
  static const std::string path = [] {
    char name[] = "/tmp/atoll-template-fuzz-XXXXXX";
    if (mkdtemp(name) == nullptr) std::abort();
    for (const char* below : {"/in", "/in/side", "/scratch"}) {
      if (mkdir((std::string(name) + below).c_str(), 0700) != 0) std::abort();
    }
    atexit([] { static_cast<void>(atl::os::remove_tree(AT_FDCWD, home())); });
    return std::string(name);
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using atl::os::open_at;
  const atl::Fd top = open_at(AT_FDCWD, home(), O_RDONLY | O_DIRECTORY).value();
  if (!atl::os::make_directory(top.get(), kTree, 0700)) std::abort();
  const atl::Fd tree = open_at(top.get(), kTree, O_RDONLY | O_DIRECTORY).value();
  const atl::Fd scratch = open_at(top.get(), "scratch", O_RDONLY | O_DIRECTORY).value();
  const atl::Fd archive(memfd_create("archive", MFD_CLOEXEC));
  if (write(archive.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  const atl::UnpackLimits limits{.tree = {.entries = 1'000, .bytes = 1 << 20},
                                 .archive_bytes = 4 << 20};
  static_cast<void>(atl::unpack_template(archive.get(), tree.get(), scratch.get(), limits,
                                         [] { return atl::Result<>(); }));
  if (atl::os::names_in(top.get()).size() != 2 || atl::os::names_in(top.get(), "in").size() != 1 ||
      atl::os::names_in(top.get(), "in/side").size() != 1) {
    std::abort();
  }
  if (!atl::os::remove_tree(top.get(), kTree)) std::abort();
  unlinkat(scratch.get(), "archive.tar", 0);
  return 0;
}
