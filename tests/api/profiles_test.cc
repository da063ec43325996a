// /v1/profiles and /v1/plan: what sandboxes can be made like, and what would become of a request.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProfilesTest : public ::testing::Test {
 protected:
  ApiWorld world_{{}, [](FakeHost& host) {
                    host.capabilities.network = NetworkControl::deny;
                    host.capabilities.limits = {.cpu = Limit::enforced,
                                                .memory = Limit::enforced,
                                                .pids = Limit::enforced,
                                                .disk = Limit::enforced};
                  }};
};

TEST_F(ProfilesTest, ListsWhatIsBuiltIn) {
  const auto answer = world_.get("/v1/profiles");

  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.json().at("profiles").as_array(), SizeIs(9));
  EXPECT_THAT(answer.body, HasSubstr(R"("reference":"untrusted@1")"));
}

TEST_F(ProfilesTest, OneIsShownWithWhatItInheritsAndWithoutValuesOfVariables) {
  const auto answer = world_.get("/v1/profiles/node@1");

  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer["chain"], R"(["node@1","default@1"])");
  EXPECT_THAT(answer["settings"], HasSubstr(R"("env":["NODE_ENV","NO_UPDATE_NOTIFIER"])"));
  EXPECT_THAT(answer["from"], HasSubstr(R"("min_isolation":"default@1")"));
  EXPECT_THAT(answer.body, Not(HasSubstr("production")));
}

TEST_F(ProfilesTest, AnUnknownOneIsNotFound) {
  for (const char* name : {"/v1/profiles/nodes", "/v1/profiles/node@7"}) {
    const auto answer = world_.get(name);
    EXPECT_EQ(answer.status, 404) << answer.body;
    EXPECT_NE(answer["hint"], "");
  }
  EXPECT_EQ(world_.get("/v1/profiles/No%20such").status, 400);
  EXPECT_EQ(world_.post("/v1/sandboxes", R"({"profile":"ghost"})").status, 404);
}

TEST_F(ProfilesTest, ASandboxIsMadeByItsProfile) {
  const auto answer =
      world_.post("/v1/sandboxes", R"({"profile":"python","resources":{"pids":7}})");

  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer["profile"], "python@1");
  EXPECT_THAT(answer["resources"], HasSubstr(R"("memory_mb":512,"pids":7,"sharing":"limited")"));
  EXPECT_EQ(answer["timeout_ms"], "120000");
}

TEST_F(ProfilesTest, APlanTellsWhyAndMakesNothing) {
  const auto served = world_.post("/v1/plan?as=fake", R"({"profile":"team"})");
  const auto refused = world_.post("/v1/plan", R"({"profile":"untrusted"})");

  ASSERT_EQ(served.status, 200) << served.body;
  EXPECT_EQ(served["driver"], "fake");
  EXPECT_EQ(served["profile"], "team@1");
  EXPECT_EQ(served["changes"], "[]");
  ASSERT_EQ(refused.status, 200) << refused.body;
  EXPECT_EQ(refused["served"], "false");
  EXPECT_THAT(refused["drivers"], HasSubstr("fake offers container, vm was asked"));
  EXPECT_EQ(world_.post("/v1/plan?as=moon", "{}").status, 404);
  EXPECT_EQ(world_.post("/v1/plan", R"({"memroy":1})").status, 400);
  EXPECT_THAT(world_.get("/v1/sandboxes").json().at("sandboxes").as_array(), SizeIs(0));
}

}  // namespace
}  // namespace atl
