#include "client/remote_files.h"

#include <gmock/gmock.h>

#include "client/scripted_server_internal.h"

namespace atl::client {
namespace {

using ::testing::ElementsAre;

class RemoteFilesTest : public ::testing::Test {
 protected:
  Result<> download(ScriptedServer& server) {
    RemoteFiles files(*server.connection, "box");
    return server.run(files.download("a b", [this](std::string_view bytes) -> Result<> {
      got_ += bytes;
      return {};
    }));
  }

  std::string got_;
};

TEST_F(RemoteFilesTest, ADownloadGoesOnWhereItBroke) {
  ScriptedServer server({{.body = "one ", .is_cut = true, .etag = "\"v1\""},
                         {.status = 206, .body = "two", .etag = "\"v1\""}});

  EXPECT_TRUE(download(server));

  EXPECT_EQ(got_, "one two");
  EXPECT_THAT(server.ranges, ElementsAre(" ", "bytes=4- \"v1\""));
  EXPECT_EQ(server.asked[0], "/v1/sandboxes/box/files?path=a%20b");
}

TEST_F(RemoteFilesTest, AFileThatHasChangedMeanwhileIsNoMixture) {
  ScriptedServer server({{.body = "one ", .is_cut = true, .etag = "\"v1\""},
                         {.status = 200, .body = "new one", .etag = "\"v2\""}});

  const auto received = download(server);

  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code(), Code::conflict);
  EXPECT_EQ(got_, "one ");
}

TEST_F(RemoteFilesTest, WhatIsNotThereIsAnAnswerOnlyIfTheSandboxIs) {
  const ScriptedAnswer missing{.status = 404, .body = R"({"code":"not_found","detail":"none"})"};
  ScriptedServer there({missing, {.body = "{}"}}), nowhere({missing, missing});

  RemoteFiles files(*there.connection, "box"), others(*nowhere.connection, "box");
  const auto none = there.run(files.find("x"));
  const auto lost = nowhere.run(others.find("x"));

  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::not_found);
}

TEST_F(RemoteFilesTest, ASourceThatEndsTooSoonIsAnError) {
  ScriptedServer server({{.body = "{}"}});
  RemoteFiles files(*server.connection, "box");

  const auto sent =
      server.run(files.upload([](char*, size_t) { return Result<size_t>(0); }, 10, "file", 0644));

  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::conflict);
}

}  // namespace
}  // namespace atl::client
