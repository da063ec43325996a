#include "api/route.h"

#include <gtest/gtest.h>

namespace atl::api {
namespace {

class RouterTest : public ::testing::Test {
 protected:
  static Task<> nothing(Call&) { co_return Result<>(); }

  Router::Found find(net::Method method, std::string_view target) {
    net::Request request;
    request.method = method;
    EXPECT_TRUE(request.set_target(target));
    return router_.find(request);
  }

  static constexpr Route kRoutes[] = {
      {net::Method::get, "/a/{id}", Action::know, nothing},
      {net::Method::post, "/a/{id}", Action::know, nothing},
      {net::Method::get, "/a/{id}/log", Action::know, nothing, "", Answer::streams},
  };
  Router router_{kRoutes};
};

TEST_F(RouterTest, FindsByPathAndMethod) {
  EXPECT_EQ(find(net::Method::get, "/a/x").route, &kRoutes[0]);
  EXPECT_EQ(find(net::Method::post, "/a/x").route, &kRoutes[1]);
  EXPECT_EQ(find(net::Method::get, "/a/x/log").route, &kRoutes[2]);
  EXPECT_EQ(find(net::Method::get, "/a/%2Flog").route, &kRoutes[0]) << "a slash inside a segment";
}

TEST_F(RouterTest, APlaceholderIsNeverEmpty) {
  EXPECT_EQ(find(net::Method::get, "/a/").route, nullptr);
  EXPECT_EQ(find(net::Method::get, "/a//log").route, nullptr);
  EXPECT_EQ(find(net::Method::get, "/a").route, nullptr);
}

TEST_F(RouterTest, HeadIsForWholeAnswers) {
  EXPECT_EQ(find(net::Method::head, "/a/x").route, &kRoutes[0]);
  EXPECT_EQ(find(net::Method::head, "/a/x/log").route, nullptr);
  EXPECT_EQ(find(net::Method::head, "/a/x/log").allow, "GET");
  EXPECT_EQ(find(net::Method::put, "/a/x").allow, "GET, HEAD, POST");
}

}  // namespace
}  // namespace atl::api
