#include "drivers/tree_archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/tar.h"
#include "os/file.h"

namespace atl::drivers {
namespace {

// What is in an archive, by path: the kind, the mode and the content or target.
struct Listing final : TarSink {
  std::map<std::string, std::string> entries;
  std::string path;

  Result<> begin(const TarEntry& entry) override {
    path = entry.path;
    const char* kinds[] = {"file", "directory", "link to ", "same as "};
    entries[path] = std::string(kinds[static_cast<int>(entry.kind)]) + entry.link_target +
                    (entry.kind == TarKind::file ? " " + std::to_string(entry.mode) + " " : "");
    return {};
  }
  Result<> bytes(std::string_view bytes) override {
    entries[path] += bytes;
    return {};
  }
  Result<> end() override { return {}; }
};

class TreeArchiveTest : public testing::Test {
 protected:
  TreeArchiveTest() {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
    root_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~TreeArchiveTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_).has_value()); }

  void write(const std::string& name, std::string_view text, mode_t mode) {
    const Fd file(openat(root_.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_TRUE(os::write_all(file.get(), text).has_value());
    EXPECT_EQ(fchmod(file.get(), mode), 0);
  }
  std::map<std::string, std::string> archived() {
    Listing listing;
    TarReader reader(listing, TarLinks::any);
    TreeArchive archive(root_.duplicate().value());
    for (;;) {
      const auto piece = archive.next();
      EXPECT_TRUE(piece.has_value());
      if (!piece || piece->empty()) break;
      EXPECT_TRUE(reader.put(*piece).has_value());
    }
    EXPECT_TRUE(reader.finish().has_value());
    return listing.entries;
  }

  std::string path_ = "/tmp/atoll-tree-XXXXXX";
  Fd root_;
};

TEST_F(TreeArchiveTest, HoldsFilesDirectoriesAndLinks) {
  ASSERT_EQ(mkdirat(root_.get(), "bin", 0755), 0);
  write("bin/tool", "does", 0755);
  ASSERT_EQ(linkat(root_.get(), "bin/tool", root_.get(), "bin/twin", 0), 0);
  ASSERT_EQ(symlinkat("/bin/tool", root_.get(), "link"), 0);
  ASSERT_EQ(mkfifoat(root_.get(), "pipe", 0600), 0);

  const std::map<std::string, std::string> wanted{{"bin", "directory"},
                                                  {"bin/tool", "file 493 does"},
                                                  {"bin/twin", "same as bin/tool"},
                                                  {"link", "link to /bin/tool"}};
  EXPECT_EQ(archived(), wanted);
}

TEST_F(TreeArchiveTest, ReadsFilesThatAreLargerThanAPiece) {
  const std::string large(3'000'001, 'x');
  write("large", large, 0644);
  write("none", "", 0644);

  const auto found = archived();

  EXPECT_EQ(found.at("large"), "file 420 " + large);
  EXPECT_EQ(found.at("none"), "file 420 ");
}

}  // namespace
}  // namespace atl::drivers
