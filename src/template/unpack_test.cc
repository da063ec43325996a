#include "template/unpack.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "os/file.h"
#include "template/test_archive_internal.h"
#include "template/tree_digest.h"

namespace atl {
namespace {

using crypto::sha256_hex;
using testing::HasSubstr;

std::string config_for(const std::vector<std::string>& layers, std::string_view config = "{}") {
  std::string ids;
  for (const auto& layer : layers)
    ids += (ids.empty() ? "" : ",") + ("\"sha256:" + sha256_hex(layer) + "\"");
  return fmt::format(R"({{"architecture":"amd64","config":{},"rootfs":{{"diff_ids":[{}]}}}})",
                     config, ids);
}

// What `docker save` has written for years.
std::string docker_archive(const std::vector<std::string>& layers, std::string_view config = "{}") {
  const std::string text = config_for(layers, config);
  TestArchive archive;
  std::string paths;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string path = fmt::format("l{}/layer.tar", i);
    archive.file(path, layers[i]);
    paths += (paths.empty() ? "" : ",") + ("\"" + path + "\"");
  }
  archive.file(sha256_hex(text) + ".json", text);
  archive.file("manifest.json",
               fmt::format(R"([{{"Config":"{}.json","RepoTags":["a:b"],"Layers":[{}]}}])",
                           sha256_hex(text), paths));
  return archive.done();
}

struct OciChoice {
  bool compress = false;
  bool inner_index = false;
  std::string architecture = "amd64";
};

std::string oci_archive(const std::vector<std::string>& layers, const OciChoice& choice = {}) {
  TestArchive archive;
  const auto blob = [&](const std::string& bytes) {
    const std::string hex = sha256_hex(bytes);
    archive.file("blobs/sha256/" + hex, bytes);
    return "\"sha256:" + hex + "\"";
  };
  std::string list;
  for (const auto& layer : layers) {
    const std::string digest = blob(choice.compress ? to_gzip(layer) : layer);
    list += (list.empty() ? "" : ",") + fmt::format(R"({{"digest":{}}})", digest);
  }
  const std::string config = blob(config_for(layers, R"({"Env":["A=1"],"WorkingDir":"/w"})"));
  std::string top =
      blob(fmt::format(R"({{"config":{{"digest":{}}},"layers":[{}]}})", config, list));
  if (choice.inner_index) {
    top = blob(fmt::format(
        R"({{"manifests":[{{"digest":{0},"platform":{{"os":"unknown","architecture":"unknown"}}}},{{"digest":{0},"platform":{{"os":"linux","architecture":"{1}"}}}}]}})",
        top, choice.architecture));
  }
  archive.file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  archive.file("index.json", fmt::format(R"({{"manifests":[{{"digest":{}}}]}})", top));
  return archive.done();
}

class UnpackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(path_), nullptr);
    ASSERT_NE(mkdtemp(outside_), nullptr);
    base_ = open(path_);
    clear();
  }
  void TearDown() override {
    EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_));
    EXPECT_TRUE(os::remove_tree(AT_FDCWD, outside_));
  }

  static Fd open(const std::string& path) {
    return os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();
  }

  void clear() {
    for (const char* name : {"tree", "scratch"}) {
      ASSERT_TRUE(os::remove_tree(base_.get(), name));
      ASSERT_TRUE(os::make_directory(base_.get(), name, 0755));
    }
    tree_ = open(std::string(path_) + "/tree");
    scratch_ = open(std::string(path_) + "/scratch");
  }

  Result<UnpackedTemplate> unpack(std::string_view archive) {
    clear();
    const Fd fd = in_memory(archive);
    return unpack_template(fd.get(), tree_.get(), scratch_.get(), limits_,
                           [] { return Result<>(); });
  }

  std::string refusal(std::string_view archive) {
    const auto unpacked = unpack(archive);
    return unpacked ? "it was taken" : unpacked.error().message();
  }

  std::string read(const std::string& path) {
    const auto text = os::read_file(tree_.get(), path, 1 << 20);
    return text ? *text : "(" + text.error().message() + ")";
  }

  struct stat look(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(fstatat(tree_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0) << path;
    return info;
  }

  bool exists(const std::string& path) {
    struct stat info{};
    return fstatat(tree_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  }

  char path_[32] = "/tmp/atoll-unpack-XXXXXX";
  char outside_[32] = "/tmp/atoll-beside-XXXXXX";
  Fd base_, tree_, scratch_;
  UnpackLimits limits_;
};

TEST_F(UnpackTest, TakesAPlainRootFileSystem) {
  const std::string archive = TestArchive()
                                  .directory("bin")
                                  .file("bin/sh", "#!", 0755)
                                  .symlink("sh", "/bin/sh")
                                  .hard_link("bin/ash", "bin/sh")
                                  .directory("tmp", 0777)
                                  .file("etc/.wh.kept", "no image, no whiteouts")
                                  .done();
  for (const auto& bytes : {archive, to_gzip(archive)}) {
    const auto unpacked = unpack(bytes);
    ASSERT_TRUE(unpacked) << unpacked.error().message();
    EXPECT_EQ(unpacked->kind, TemplateKind::rootfs);
    EXPECT_EQ(read("bin/sh"), "#!");
    EXPECT_EQ(look("bin/sh").st_mode & 07777, 0755u);
    EXPECT_EQ(look("bin/sh").st_mtim.tv_sec, 1'000);
    EXPECT_EQ(look("bin/sh").st_ino, look("bin/ash").st_ino);
    EXPECT_TRUE(S_ISLNK(look("sh").st_mode));
    EXPECT_EQ(look("tmp").st_mode & 07777, 01777u);
    EXPECT_EQ(read("etc/.wh.kept"), "no image, no whiteouts");
  }
}

TEST_F(UnpackTest, LaysTheLayersOfADockerImageOverEachOther) {
  const std::string low = TestArchive()
                              .directory("etc")
                              .file("etc/a", "low")
                              .file("etc/gone", "low")
                              .file("dir/one", "low")
                              .file("dir/sub/two", "low")
                              .file("was-file", "low")
                              .file("was-dir/x", "low")
                              .done();
  const std::string high = TestArchive()
                               .file("etc/a", "high")
                               .file("etc/.wh.gone", "")
                               .file("dir/sub/three", "high")
                               .file("dir/.wh..wh..opq", "")
                               .file("dir/four", "high")
                               .directory("was-file")
                               .file("was-file/y", "high")
                               .file("was-dir", "high")
                               .done();
  const auto unpacked = unpack(docker_archive(
      {low, high},
      R"({"Env":["PATH=/bin","X=a=b"],"User":"7:8","WorkingDir":"srv","Cmd":["sh"]})"));
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(unpacked->kind, TemplateKind::docker);
  EXPECT_EQ(unpacked->layers, 2u);
  EXPECT_EQ(read("etc/a"), "high");
  EXPECT_FALSE(exists("etc/gone"));
  EXPECT_FALSE(exists("etc/.wh.gone"));
  EXPECT_FALSE(exists("dir/one"));
  EXPECT_FALSE(exists("dir/sub/two"));
  EXPECT_FALSE(exists("dir/.wh..wh..opq"));
  EXPECT_EQ(read("dir/sub/three"), "high");
  EXPECT_EQ(read("dir/four"), "high");
  EXPECT_EQ(read("was-file/y"), "high");
  EXPECT_EQ(read("was-dir"), "high");
  EXPECT_EQ(unpacked->config.env.at("X"), "a=b");
  EXPECT_EQ(unpacked->config.user, "7");
  EXPECT_EQ(unpacked->config.cwd, "/srv");
  EXPECT_THAT(unpacked->config.cmd, testing::ElementsAre("sh"));
}

TEST_F(UnpackTest, AWhiteoutDoesNotHideWhatItsOwnLayerHas) {
  const std::string low = TestArchive().file("a", "low").done();
  const std::string high = TestArchive().file("a", "high").file(".wh.a", "").done();
  ASSERT_TRUE(unpack(docker_archive({low, high})));
  EXPECT_EQ(read("a"), "high");
}

TEST_F(UnpackTest, TakesAnOciLayoutCompressedOrNot) {
  const std::string layer = TestArchive().file("a", "content").done();
  for (const bool compress : {false, true}) {
    for (const bool inner : {false, true}) {
      const auto unpacked = unpack(oci_archive({layer}, {compress, inner}));
      ASSERT_TRUE(unpacked) << unpacked.error().message();
      EXPECT_EQ(unpacked->kind, TemplateKind::oci);
      EXPECT_EQ(unpacked->config.env.at("A"), "1");
      EXPECT_EQ(unpacked->config.cwd, "/w");
      EXPECT_EQ(read("a"), "content");
    }
  }
  EXPECT_THAT(refusal(oci_archive({layer}, {false, true, "arm64"})), HasSubstr("linux/amd64"));
}

TEST_F(UnpackTest, FollowsTheLinksThatOlderArchivesHaveForEqualLayers) {
  const std::string layer = TestArchive().file("a", "x").done();
  const std::string config = config_for({layer, layer});
  const std::string archive =
      TestArchive()
          .file("one/layer.tar", layer)
          .symlink("two/layer.tar", "../one/layer.tar")
          .file(sha256_hex(config) + ".json", config)
          .file(
              "manifest.json",
              fmt::format(R"([{{"Config":"{}.json","Layers":["one/layer.tar","two/layer.tar"]}}])",
                          sha256_hex(config)))
          .done();
  ASSERT_TRUE(unpack(archive)) << refusal(archive);
  EXPECT_EQ(read("a"), "x");
}

TEST_F(UnpackTest, RefusesEveryDigestThatDiffers) {
  const std::string layer = TestArchive().file("a", "content").done();
  for (const auto& archive :
       {docker_archive({layer}), oci_archive({layer}), oci_archive({layer}, {.compress = true})}) {
    ASSERT_TRUE(unpack(archive)) << refusal(archive);
    // A byte of the layer's, of the configuration's and of the manifest's.
    for (const std::string_view part : {"content", "amd64", "\"layers\""}) {
      std::string changed = archive;
      const size_t at = changed.find(part);
      if (at == std::string::npos) continue;  // compressed, or of the other kind
      changed[at + 1] = static_cast<char>(changed[at + 1] ^ 1);
      EXPECT_FALSE(unpack(changed)) << part;
    }
  }
  std::string changed = docker_archive({layer});
  changed[changed.find("content")] = 'C';
  EXPECT_THAT(refusal(changed), HasSubstr("damaged"));
}

TEST_F(UnpackTest, RefusesWhatIsCutOffAnywhere) {
  const std::string layer = TestArchive().file("a", std::string(3'000, 'x')).done();
  const std::string whole = docker_archive({layer});
  for (size_t size = 0; size < whole.size() - 1024; size += 300) {
    const auto unpacked = unpack(whole.substr(0, size));
    ASSERT_FALSE(unpacked) << size;
    EXPECT_EQ(unpacked.error().code(), Code::invalid_argument) << unpacked.error().message();
  }
  // A layer that is cut off where it is made has the right digest, and is refused all the same.
  EXPECT_FALSE(unpack(docker_archive({TestArchive().file("a", "x").unfinished()})));
  EXPECT_FALSE(unpack(to_gzip(whole).substr(0, to_gzip(whole).size() / 2)));
}

TEST_F(UnpackTest, NeverLeavesItsDirectory) {
  const std::string out = outside_;
  const std::string up = "../../../../../.." + out;
  // By links that lead out, whether they come with the same layer or with the one below.
  const std::string links = TestArchive()
                                .symlink("absolute", out)
                                .symlink("relative", up)
                                .symlink("file", out + "/made")
                                .done();
  const std::string through = TestArchive()
                                  .file("absolute/one", "x")
                                  .file("relative/two", "x")
                                  .directory("absolute/three")
                                  .symlink("relative/four", "x")
                                  .file("file", "x")
                                  .done();
  static_cast<void>(unpack(docker_archive({links, through})));
  EXPECT_TRUE(os::names_in(AT_FDCWD, out).empty());

  ASSERT_TRUE(os::replace_file(open(out).get(), "secret", "s", 0600));
  const std::string take = TestArchive().hard_link("got", "absolute/secret").done();
  EXPECT_FALSE(unpack(docker_archive({links, take})));
  const std::string hide =
      TestArchive().file("absolute/.wh.secret", "").file("absolute/.wh..wh..opq", "").done();
  static_cast<void>(unpack(docker_archive({links, hide})));
  EXPECT_THAT(os::names_in(AT_FDCWD, out), testing::ElementsAre("secret"));

  for (const char* name : {"../x", "/x", "a/../../x", "a/.."})
    EXPECT_THAT(refusal(TestArchive().file(name, "x").done()), HasSubstr("refused")) << name;
  for (const char* name : {".wh..", ".wh...", ".wh."}) {
    const std::string layer =
        TestArchive().file("d/a", "x").file(std::string("d/") + name, "").done();
    EXPECT_THAT(refusal(docker_archive({layer})), HasSubstr("no name")) << name;
  }
}

TEST_F(UnpackTest, FollowsALinkedDirectoryInsideOfTheTree) {
  const std::string low = TestArchive().directory("usr/lib").symlink("lib", "/usr/lib").done();
  const std::string high = TestArchive().file("lib/new", "x").done();
  ASSERT_TRUE(unpack(docker_archive({low, high})));
  EXPECT_TRUE(S_ISLNK(look("lib").st_mode));
  EXPECT_EQ(read("usr/lib/new"), "x");
}

TEST_F(UnpackTest, LeavesDevicesOut) {
  const auto unpacked = unpack(TestArchive().device("dev/sda").file("a", "x").done());
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(unpacked->left_out, 1u);
  EXPECT_FALSE(exists("dev/sda"));
  EXPECT_EQ(read("a"), "x");
}

TEST_F(UnpackTest, DropsSetUserIdBits) {
  const auto unpacked = unpack(TestArchive().file_as("su", 103, '4').done());
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(look("su").st_mode & 07777, 0644u);
}

TEST_F(UnpackTest, HasLimits) {
  const std::string three = TestArchive().file("a", "x").file("b", "xx").file("c", "xxx").done();
  limits_.tree.entries = 2;
  EXPECT_EQ(unpack(three).error().code(), Code::too_large);
  limits_.tree.entries = 3;
  ASSERT_TRUE(unpack(three));
  limits_.tree.bytes = 5;
  EXPECT_EQ(unpack(three).error().code(), Code::too_large);
  // A layer that covers another counts as well.
  limits_.tree.bytes = 11;
  EXPECT_EQ(unpack(docker_archive({three, three})).error().code(), Code::too_large);
  limits_ = {};
  limits_.archive_bytes = 100'000;
  const std::string bomb = to_gzip(TestArchive().file("a", std::string(1'000'000, '\0')).done());
  ASSERT_LT(bomb.size(), 10'000u);
  EXPECT_EQ(unpack(bomb).error().code(), Code::too_large);
}

TEST_F(UnpackTest, StopsWhenItIsTold) {
  const Fd fd = in_memory(TestArchive().file("a", "x").done());
  const auto unpacked = unpack_template(fd.get(), tree_.get(), scratch_.get(), {},
                                        [] { return Result<>(Error(Code::unavailable, "stop")); });
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code(), Code::unavailable);
}

TEST_F(UnpackTest, SaysWhatItCannotRead) {
  EXPECT_THAT(refusal("\x28\xb5\x2f\xfd and more"), HasSubstr("zstd"));
  EXPECT_THAT(refusal("\xfd"
                      "7zXZ"),
              HasSubstr("xz"));
  EXPECT_THAT(refusal(TestArchive().done()), HasSubstr("no files"));
  EXPECT_THAT(refusal(std::string(600, 'x')), HasSubstr("no tar archive"));
  const std::string layer = TestArchive().file("a", "x").done();
  EXPECT_THAT(refusal(TestArchive().file("manifest.json", R"([{"Layers":[]},{}])").done()),
              HasSubstr("2 images"));
  EXPECT_THAT(
      refusal(TestArchive().file("manifest.json", R"([{"Config":"c","Layers":[]}])").done()),
      HasSubstr("lacks 'c'"));
}

TEST_F(UnpackTest, ADigestIsOfWhatIsInATree) {
  const auto go_on = [] { return Result<>(); };
  const auto digest = [&](const std::string& archive) {
    EXPECT_TRUE(unpack(archive));
    return digest_tree(tree_.get(), go_on).value().hex;
  };
  const std::string one = TestArchive().directory("d").file("d/a", "x").done();
  const std::string same = docker_archive({TestArchive().file("d/a", "y").done(), one});
  EXPECT_EQ(digest(one), digest(same));
  EXPECT_NE(digest(one), digest(TestArchive().directory("d").file("d/a", "y").done()));
  EXPECT_NE(digest(one), digest(TestArchive().directory("d").file("d/a", "x", 0600).done()));
  EXPECT_NE(digest(one), digest(TestArchive().directory("d", 0700).file("d/a", "x").done()));
  EXPECT_NE(digest(one), digest(TestArchive().directory("d").symlink("d/a", "x").done()));
  EXPECT_NE(digest(TestArchive().file("ab", "c").done()),
            digest(TestArchive().file("a", "bc").done()));
}

}  // namespace
}  // namespace atl
