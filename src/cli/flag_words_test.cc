#include "cli/flag_words.h"

#include <gmock/gmock.h>

#include "api/v1/exec_wire.h"
#include "api/v1/sandbox_wire.h"
#include "cli/args.h"
#include "cli/report.h"
#include "core/request_check.h"

namespace atl::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string said(const Error& error) { return in_flag_words(error).message(); }

TEST(FlagWords, FieldsThatTheEngineNamesBecomeFlags) {
  const EngineOptions options;

  EXPECT_THAT(said(check_create({.name = "No Good"}, options).error()), StartsWith("--name: "));
  EXPECT_THAT(said(check_create({.ttl = std::chrono::seconds(0)}, options).error()),
              StartsWith("--ttl: "));
  EXPECT_THAT(said(check_create({.idle = std::chrono::seconds(0)}, options).error()),
              StartsWith("--idle: "));
  EXPECT_THAT(said(check_create({.labels = {{"a b", "c"}}}, options).error()),
              StartsWith("--label: "));
  EXPECT_THAT(said(check_create({.labels = {{"a", "\n"}}}, options).error()),
              StartsWith("--label a: "));
  EXPECT_THAT(said(check_create({.resources = {.memory_mb = -1}}, options).error()),
              StartsWith("--memory: "));
}

TEST(FlagWords, FieldsThatTheApiNamesBecomeFlags) {
  api::v1::WireExec wire;
  wire.command = "true";
  wire.timeout_ms = -1;

  const auto plan = api::v1::to_plan(std::move(wire));

  ASSERT_FALSE(plan);
  EXPECT_THAT(said(Error(plan.error()).with("exec")), StartsWith("--timeout: "));
}

TEST(FlagWords, AHintAboutARouteBecomesOneAboutACommand) {
  api::v1::WireCreate wire;
  wire.host_dirs.emplace().push_back({.path = "/tmp"});

  const auto request = api::v1::to_request(std::move(wire), api::Seat::remote);

  ASSERT_FALSE(request);
  const Error error = in_flag_words(request.error());
  EXPECT_THAT(error.message(), StartsWith("--volume: "));
  EXPECT_THAT(error.hint(), AllOf(HasSubstr("atoll cp"), Not(HasSubstr("/v1/"))));
}

TEST(FlagWords, AHintThatOnlyHttpUnderstandsGoes) {
  const auto error = Error(Code::internal, "x").with_hint("did you mean /v1/sandboxes?");

  EXPECT_EQ(in_flag_words(error).hint(), "");
}

TEST(FlagWords, TheRestStaysAsItIs) {
  const auto error = Error(Code::unavailable, "env: ttl_s is what the guest said")
                         .with_hint("try again in a moment")
                         .at_stage("create");

  const Error same = in_flag_words(error);

  EXPECT_EQ(same.code(), Code::unavailable);
  EXPECT_EQ(same.message(), error.message());
  EXPECT_EQ(same.hint(), error.hint());
  EXPECT_EQ(same.stage(), "create");
}

TEST(FlagWords, ATimeThatIsRefusedIsAUsageErrorWhoeverNotices) {
  const Error refused = check_ttl(std::chrono::hours(24 * 8), {}).error();

  EXPECT_EQ(said(Error(refused).with("sandbox")),
            "--ttl: 8 days is longer than the 7 days that a sandbox may live");
  EXPECT_EQ(exit_code_of(Error(refused).with("sandbox")), kExitUsage);
  EXPECT_EQ(exit_code_of(Error(Code::unavailable, refused.message())), kExitAtollFailed);
}

TEST(FlagWords, AUsageErrorSpeaksOfFlagsAlready) {
  const Error error = usage_error("env.list:2: a variable has no name");

  EXPECT_EQ(said(error), error.message());
}

TEST(FlagWords, AreWhatPeopleRead) {
  const auto error =
      Error(Code::deadline_exceeded, "the run's time is over").with_hint("give it a longer ttl_s");

  EXPECT_THAT(to_text(error, ""), HasSubstr("give it a longer --ttl"));
  EXPECT_THAT(to_json(error, ""), HasSubstr("give it a longer --ttl"));
}

}  // namespace
}  // namespace atl::cli
