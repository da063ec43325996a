#include "client/sandbox_pages.h"

#include <gmock/gmock.h>

#include "client/answer.h"
#include "client/scripted_server_internal.h"

namespace atl::client {
namespace {

using ::testing::ElementsAre;

TEST(SandboxPages, AreReadUntilThereIsNoNext) {
  ScriptedServer server({{.body = R"({"sandboxes":[{"id":"a"},{"id":"b"}],"next_cursor":"1-b"})"},
                         {.body = R"({"sandboxes":[{"id":"c"}],"next_cursor":"2 c"})"},
                         {.body = R"({"sandboxes":[{"id":"d"}],"next_cursor":null})"}});

  const auto all = server.run(fetch_sandboxes(*server.connection, "limit=2&state=running"));

  ASSERT_TRUE(all);
  std::vector<std::string> ids;
  for (const auto& one : *all) ids.push_back(text_at(one, "id"));
  EXPECT_THAT(ids, ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(server.asked, ElementsAre("/v1/sandboxes?limit=2&state=running",
                                        "/v1/sandboxes?limit=2&state=running&cursor=1-b",
                                        "/v1/sandboxes?limit=2&state=running&cursor=2%20c"));
}

TEST(SandboxPages, ThatLeadInACircleAreAnError) {
  const ScriptedAnswer page{.body = R"({"sandboxes":[{"id":"a"}],"next_cursor":"1-a"})"};
  ScriptedServer server({page, page});

  const auto all = server.run(fetch_sandboxes(*server.connection, "limit=1"));

  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), Code::internal);
}

TEST(SandboxPages, AnErrorInTheMiddleIsTold) {
  ScriptedServer server(
      {{.body = R"({"sandboxes":[{"id":"a"}],"next_cursor":"1-a"})"},
       {.status = 429, .body = R"({"code":"resource_exhausted","detail":"slow"})"}});

  const auto all = server.run(fetch_sandboxes(*server.connection, "limit=1"));

  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), Code::resource_exhausted);
}

}  // namespace
}  // namespace atl::client
