#include "cli/scrubber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Scrubber, TakesOutWhatItWasTold) {
  Scrubber scrubber;
  scrubber.add_secret("hunter2hunter2\n");
  scrubber.add_secret("abc");
  EXPECT_EQ(scrubber.scrub("it is hunter2hunter2, abc"), "it is (left out), abc");
}

TEST(Scrubber, TakesOutVariablesWhoseNamesSayThatTheyAreSecret) {
  const char* const environment[] = {"MY_API_KEY=value-of-key", "PATH=/usr/bin:/bin", nullptr};
  Scrubber scrubber;
  scrubber.add_environment(environment);
  EXPECT_EQ(scrubber.scrub("value-of-key /usr/bin:/bin"), "(left out) /usr/bin:/bin");
}

TEST(Scrubber, KnowsTheShapesOfSecrets) {
  const Scrubber scrubber;
  for (const char* text :
       {"key atk_Zm9vYmFyYmF6cXV4 used", "ast_sbx1.17.uid:5.Zm9vYmFyYmF6cXV4",
        "Authorization: Bearer Zm9vYmFyYmF6cXV4", "rw,username=bob,password=Zm9vYmFyYmF6cXV4,uid=0",
        "GET https://bob:Zm9vYmFyYmF6cXV4@host/x",
        R"({"aws_secret_access_key":"Zm9vYmFyYmF6cXV4"})", "DB_PASSWORD='Zm9vYmFyYmF6cXV4 x'",
        "api_token: Zm9vYmFyYmF6cXV4"}) {
    EXPECT_THAT(scrubber.scrub(text), Not(HasSubstr("Zm9vYmFyYmF6cXV4"))) << text;
  }
  EXPECT_EQ(scrubber.scrub("rw,password=x1,uid=0"), "rw,password=(left out),uid=0");
}

TEST(Scrubber, LeavesEverythingElseAlone) {
  const Scrubber scrubber;
  for (const char* text : {"kernel.pid_max = 4194304", R"({"name":"kernel","found":"Linux: 6.1"})",
                           "http://host:7070/v1", "atoll_execs_total{driver=\"native\"} 3", ""}) {
    EXPECT_EQ(scrubber.scrub(text), text);
  }
}

TEST(Scrubber, SurvivesTextThatEndsTooEarly) {
  const Scrubber scrubber;
  for (const char* text :
       {"password=", "password=\"", "password=\"\\", "://", "Bearer ", "atk_", "=", ":"}) {
    EXPECT_LE(scrubber.scrub(text).size(), std::string_view(text).size() + 10) << text;
  }
}

}  // namespace
}  // namespace atl::cli
