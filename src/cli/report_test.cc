#include "cli/report.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "cli/args.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"

namespace atl::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ExitCode, TellsUsageRefusalAndFailureApart) {
  EXPECT_EQ(exit_code_of(usage_error("x")), 2);
  EXPECT_EQ(exit_code_of(Error(Code::permission_denied, "x")), 126);
  EXPECT_EQ(exit_code_of(Error(Code::invalid_argument, "x")), 125);
  EXPECT_EQ(exit_code_of(Error(Code::not_found, "x")), 125);
  EXPECT_EQ(exit_code_of(Error(Code::unavailable, "x")), 125);
  EXPECT_EQ(exit_code_of(output_gone()), 141);
}

TEST(ExitCode, IsTheProgramsOwnUnlessItWasStopped) {
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 7, .reason = "exited"}), 7);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 127, .reason = "exited"}), 127);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 143, .signal = SIGTERM, .reason = "signaled"}), 143);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 137, .signal = SIGKILL, .reason = "oom"}), 137);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 137, .reason = "timeout"}), 124);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 0, .reason = "infra"}), 125);
  EXPECT_EQ(exit_code_of(RunFacts{.exit_code = 159, .reason = "policy"}), 126);
}

TEST(ErrorText, SaysWhatWhyAndWhatHelps) {
  const auto error =
      Error(Code::unavailable, "no driver answers").at_stage("route").with_hint("atoll drivers");

  EXPECT_EQ(to_text(error, "req1"),
            "atoll: creating the sandbox: no driver answers\n"
            "  hint: atoll drivers\n"
            "  request: req1\n");
}

TEST(ErrorText, WhatOthersSaidCannotReachTheTerminalAsAnEscape) {
  const Error error(Code::internal,
                    "bad \033[2J name\nsecond line \xC2\x9B"
                    "31m");

  const std::string text = to_text(error, "");

  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(ErrorJson, HasTheSameFactsAndOnlyThoseThatThereAre) {
  const auto full = Error(Code::conflict, "it \"runs\"").with_hint("stop it").at_stage("create");

  EXPECT_EQ(to_json(full, "req1"),
            R"({"ok":false,"error":{"code":"conflict","message":"it \"runs\"","stage":"create",)"
            R"("hint":"stop it","request_id":"req1"}})"
            "\n");
  EXPECT_EQ(to_json(Error(Code::internal, "x"), ""),
            "{\"ok\":false,\"error\":{\"code\":\"internal\",\"message\":\"x\"}}\n");
}

TEST(SummaryLine, HasDriverIsolationAndNumbers) {
  const RunFacts facts{.driver = "subprocess",
                       .isolation = "process",
                       .start_ms = 3.14,
                       .cpu_ms = 12.3,
                       .peak_memory_bytes = 9'437'184};

  EXPECT_EQ(summary_line(facts), "· subprocess · process · start 3.1 ms · cpu 12 ms · peak 9.0 MB");
}

TEST(ExplainEnd, SpeaksOnlyWhereTheCodeAloneWouldLeavePeopleGuessing) {
  EXPECT_THAT(explain_end({.exit_code = 1, .reason = "exited"}), IsEmpty());
  EXPECT_THAT(explain_end({.signal = SIGINT, .reason = "signaled"}), IsEmpty());
  EXPECT_THAT(explain_end({.reason = "timeout"}), HasSubstr("timeout"));
  EXPECT_THAT(explain_end({.reason = "timeout", .limit = "cpu_time"}), HasSubstr("processor time"));
  EXPECT_THAT(explain_end({.exit_code = 137, .reason = "oom"}), HasSubstr("memory"));
  EXPECT_THAT(explain_end({.signal = SIGSEGV, .reason = "signaled"}), HasSubstr("SIGSEGV"));
}

TEST(Facts, ComeFromTheApisExitAndCountTheStartWithoutTheCommand) {
  const auto exit = json::parse(
      R"({"exit_code":3,"reason":"exited","usage":{"cpu_ms":1.5,"peak_memory_bytes":4096},"driver":"local",)"
      R"("isolation":"none","stages":[{"name":"route","ms":1},{"name":"create","ms":2},{"name":"exec","ms":50},)"
      R"({"name":"destroy","ms":9}],"a_newer_field":true})");
  ASSERT_TRUE(exit);

  const RunFacts facts = facts_from(*exit);

  EXPECT_EQ(facts.exit_code, 3);
  EXPECT_EQ(facts.start_ms, 3);
  EXPECT_EQ(facts.cpu_ms, 1.5);
  EXPECT_EQ(facts.peak_memory_bytes, 4096u);
  EXPECT_EQ(facts.isolation, "none");
}

}  // namespace
}  // namespace atl::cli
