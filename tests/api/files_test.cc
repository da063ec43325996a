// Files: raw bytes both ways, ranges, and names that are no text.
#include "base/text.h"
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FilesTest : public ::testing::Test {
 protected:
  Answer put(std::string query, std::string bytes) {
    return world_.call(Method::put, path_ + "?" + query, std::move(bytes));
  }
  Answer get(std::string query, net::Headers headers = {}) {
    return world_.call(Method::get, path_ + "?" + query, "", std::move(headers));
  }

  ApiWorld world_;
  std::string id_ = world_.create();
  std::string path_ = "/v1/sandboxes/" + id_ + "/files";
};

TEST_F(FilesTest, WhatIsWrittenIsRead) {
  const std::string bytes = std::string(1'000'000, 'x') + std::string("\0\xff\r\n", 4);

  const auto written = put("path=dir/a.bin&mode=0755", bytes);
  const auto read = get("path=dir/a.bin");

  ASSERT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(written["name"], "a.bin");
  EXPECT_EQ(written["path"], "/workspace/dir/a.bin");
  EXPECT_EQ(written["size"], "1000004");
  EXPECT_EQ(written["mode"], "0755");
  EXPECT_EQ(written["kind"], "file");
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.header("Content-Length"), "1000004");
  EXPECT_EQ(read.header("Accept-Ranges"), "bytes");
  EXPECT_TRUE(read.body == bytes);
}

TEST_F(FilesTest, EmptyFilesAreFiles) {
  EXPECT_EQ(put("path=empty", "").status, 200);
  const auto read = get("path=empty");

  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, "");
}

TEST_F(FilesTest, PartsCanBeRead) {
  put("path=a", "0123456789");
  const auto part = [&](std::string range) { return get("path=a", {{"Range", range}}); };

  const auto middle = part("bytes=2-4");
  EXPECT_EQ(middle.status, 206);
  EXPECT_EQ(middle.body, "234");
  EXPECT_EQ(middle.header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(part("bytes=7-").body, "789");
  EXPECT_EQ(part("bytes=-3").body, "789");
  EXPECT_EQ(part("bytes=5-999999999999999999999").body, "56789");
  EXPECT_EQ(part("bytes=nonsense").status, 200);
  const auto beyond = part("bytes=10-");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.header("Content-Range"), "bytes */10");
  EXPECT_EQ(get("path=a", {{"Range", "bytes=2-4"}, {"If-Range", "\"x\""}}).status, 200);
}

TEST_F(FilesTest, HeadTellsTheSize) {
  put("path=a", "0123456789");

  const auto head = world_.call(Method::head, path_ + "?path=a");

  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "10");
  EXPECT_EQ(head.body, "");
}

TEST_F(FilesTest, ListStatMkdirMoveAndRemove) {
  EXPECT_EQ(world_.post(path_ + "/mkdir", R"({"path":"a/b"})").status, 204);
  put("path=a/b/c", "x");

  EXPECT_EQ(world_.get(path_ + "/stat?path=a/b")["kind"], "directory");
  EXPECT_EQ(world_.post(path_ + "/move", R"({"from":"a/b/c","to":"a/d"})").status, 204);
  const auto listed = world_.get(path_ + "/list?path=a").json().at("entries").as_array();
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[0].at("name").as_string(), "b");
  EXPECT_EQ(listed[1].at("name").as_string(), "d");

  EXPECT_EQ(world_.post(path_ + "/remove", R"({"path":"a"})").status, 409);
  EXPECT_EQ(world_.call(Method::delete_, path_ + "?path=a/d").status, 204);
  EXPECT_EQ(world_.post(path_ + "/remove", R"({"path":"a","recursive":true})").status, 204);
  EXPECT_EQ(world_.get(path_ + "/stat?path=a").status, 404);
  EXPECT_EQ(put("path=no/such&parents=false", "x").status, 404);
}

TEST_F(FilesTest, NamesThatAreNoTextAreCarriedThrough) {
  const std::string name = "caf\xe9";
  const std::string encoded = net::percent_encode(to_base64(name));

  const auto written = put("path_b64=" + encoded, "x");
  EXPECT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(written["name_b64"], to_base64(name));
  EXPECT_EQ(get("path_b64=" + encoded).body, "x");
  EXPECT_EQ(get("path=caf%E9").body, "x");
  EXPECT_EQ(world_.post(path_ + "/remove", R"({"path_b64":")" + to_base64(name) + "\"}").status,
            204);
}

TEST_F(FilesTest, PathTricksAreRefused) {
  EXPECT_EQ(get("path=../../etc/passwd").status, 403);
  EXPECT_EQ(put("path=a/../../../x", "x").status, 403);
  EXPECT_EQ(get("path=a%00b").status, 400);
  EXPECT_EQ(get("path_b64=YQBi").status, 400);
  EXPECT_EQ(get("path=" + std::string(5'000, 'x')).status, 400);
  EXPECT_EQ(get("path=").status, 400);
  EXPECT_EQ(get("").status, 400);
  EXPECT_EQ(get("path=a&path=b").status, 400);
  EXPECT_EQ(get("path=a&path_b64=YQ==").status, 400);
  EXPECT_EQ(get("path_b64=n*nsense").status, 400);
  EXPECT_EQ(world_.post(path_ + "/mkdir", R"({"path":"a\u0000b"})").status, 400);
  EXPECT_EQ(world_.post(path_ + "/mkdir", "{}").status, 400);
  EXPECT_EQ(world_.post(path_ + "/move", R"({"from":"a"})").status, 400);
}

TEST_F(FilesTest, ModesAreOctal) {
  EXPECT_EQ(put("path=a&mode=0999", "x").status, 400);
  EXPECT_EQ(put("path=a&mode=77777", "x").status, 400);
  EXPECT_EQ(put("path=a&mode=", "x").status, 400);
  EXPECT_EQ(put("path=a&mode=0777", "x")["mode"], "0777");
  EXPECT_EQ(put("path=a&mode=rwx", "x").status, 400);
  EXPECT_EQ(put("path=a&parents=maybe", "x").status, 400);
}

TEST_F(FilesTest, BitsThatWouldNotBeKeptAreRefused) {
  for (const std::string mode : {"4755", "02755", "1777", "1000"}) {
    const auto answer = put("path=a&mode=" + mode, "x");

    EXPECT_EQ(answer.status, 400) << mode;
    EXPECT_EQ(answer["code"], "invalid_argument");
    EXPECT_THAT(answer["detail"], HasSubstr(mode));
    EXPECT_THAT(answer["hint"], HasSubstr("mode=0755"));
  }
  EXPECT_EQ(get("path=a").status, 404);
}

TEST_F(FilesTest, AnUploadThatIsCutOffLeavesNothing) {
  const std::string head = "PUT " + path_ +
                           "?path=half HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " +
                           world_.key() + "\r\nContent-Length: 100\r\n\r\n";

  world_.raw_cut(head + "only this");

  EXPECT_EQ(get("path=half").status, 404);
}

TEST(Uploads, AreBounded) {
  ApiWorld world({.most_upload_bytes = 10});
  const std::string path = "/v1/sandboxes/" + world.create() + "/files?path=a";

  EXPECT_EQ(world.call(Method::put, path, "0123456789").status, 200);
  const auto refused = world.call(Method::put, path, "0123456789a");
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused["detail"], HasSubstr("10 bytes"));
}

}  // namespace
}  // namespace atl
