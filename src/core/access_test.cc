#include "core/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl {
namespace {

using enum Action;
using ::testing::ElementsAre;

Caller caller(Role role) { return {.tenant = "acme", .subject = "key1", .role = role}; }

TEST(Access, EachRoleMayWhatIsWrittenDown) {
  EXPECT_THAT(all_that_may(caller(Role::admin)),
              ElementsAre(open, know, survey, measure, look, read, use, manage, create, delegate,
                          administer));
  EXPECT_THAT(all_that_may(caller(Role::member)),
              ElementsAre(open, know, survey, measure, look, read, use, manage, create, delegate));
  EXPECT_THAT(all_that_may(caller(Role::viewer)), ElementsAre(open, know, survey, measure, look));
  EXPECT_THAT(all_that_may(caller(Role::agent)),
              ElementsAre(open, know, survey, look, read, use, manage, create, delegate));
}

TEST(Access, ATokenIsGoodForWorkInItsSandboxOnly) {
  Caller token = caller(Role::admin);
  token.sandbox = "sbx1";

  EXPECT_THAT(all_that_may(token), ElementsAre(open, know, look, read, use));
  EXPECT_TRUE(sees(token, "acme", "key1", "sbx1"));
  EXPECT_FALSE(sees(token, "acme", "key1", "sbx2"));
}

TEST(Access, ATokenOfAViewerReadsAndChangesNothing) {
  Caller token = caller(Role::viewer);
  token.sandbox = "sbx1";

  EXPECT_THAT(all_that_may(token), ElementsAre(open, know, look, read));
}

TEST(Access, AForeignTenantsSandboxIsNotThere) {
  for (const Role role : {Role::member, Role::viewer, Role::agent}) {
    EXPECT_FALSE(sees(caller(role), "other", "key1", "sbx1"));
    EXPECT_TRUE(sees(caller(role), "acme", "key1", "sbx1"));
  }
  EXPECT_TRUE(sees(caller(Role::admin), "other", "key2", "sbx1"));
}

TEST(Access, AnAgentSeesOnlyWhatItMade) {
  EXPECT_FALSE(sees(caller(Role::agent), "acme", "key2", "sbx1"));
  EXPECT_FALSE(sees(caller(Role::agent), "acme", "", "sbx1"));
  EXPECT_TRUE(sees(caller(Role::member), "acme", "key2", "sbx1"));
}

}  // namespace
}  // namespace atl
