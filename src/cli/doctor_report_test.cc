#include "cli/doctor_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor_page.h"
#include "cli/json_view.h"

namespace atl::cli {
namespace {

using native::HostCheck;
using native::Need;
using native::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kDrivers = R"([
  {"name":"native","summary":"strong","available":false,"unavailable_because":"needs root","hint":"be root"},
  {"name":"far","summary":"elsewhere","available":true,
   "capabilities":{"isolation":"vm","placement":"third_party"}},
  {"name":"bare","summary":"the host","available":true,"capabilities":{"isolation":"none","placement":"host"}},
  {"name":"subprocess","summary":"a process","available":true,
   "capabilities":{"isolation":"process","placement":"host","kill_tree":"best_effort","network":"deny","pause":"none",
     "limits":{"cpu":"none","memory":"per_process","pids":"none","disk":"none","open_files":"per_process",
               "output":"enforced","wall_time":"enforced","cpu_time":"per_process"}}}])";

json::Array drivers() {
  const auto parsed = json::parse(kDrivers);
  return parsed ? parsed->get_array() : json::Array();
}

DoctorReport report() {
  DoctorReport made;
  made.version = "1.2.3";
  made.user = "user 1000";
  made.checks = {
      HostCheck{"kernel", Verdict::ok, Need::required, "Linux 6.12", "everything", ""},
      HostCheck{"cgroups", Verdict::weak, Need::useful, "not delegated", "limits",
                "do this\nand that"},
      HostCheck{"landlock", Verdict::missing, Need::required, "not offered", "files", "boot it"},
      HostCheck{"kvm", Verdict::missing, Need::optional, "no /dev/kvm", "vm", ""},
  };
  made.drivers = drivers();
  made.where = "an engine in this process";
  made.default_driver = find_default_driver(made.drivers);
  made.tryout = {.ran = true, .ms = 12.4, .trouble = "", .hint = ""};
  return made;
}

TEST(DoctorReport, TheDefaultIsTheFirstNearbyDriverThatIsolates) {
  EXPECT_EQ(find_default_driver(drivers()), "subprocess");
  EXPECT_EQ(find_default_driver({}), "");
}

TEST(DoctorReport, EveryVerdictHasASignAndAWord) {
  const std::string text = to_text(report(), Paint::plain);
  EXPECT_THAT(text, HasSubstr("✓ ok      kernel"));
  EXPECT_THAT(text, HasSubstr("! weak    cgroups"));
  EXPECT_THAT(text, HasSubstr("✗ missing landlock"));
  EXPECT_THAT(text, HasSubstr("– absent  kvm"));
}

TEST(DoctorReport, WhatIsNotFineSaysWhatItIsFor) {
  const std::string text = to_text(report(), Paint::plain);
  EXPECT_THAT(text, HasSubstr("for: limits\n"));
  EXPECT_THAT(text, Not(HasSubstr("for: everything\n")));
}

TEST(DoctorReport, ColourIsOnlyThereIfAskedFor) {
  EXPECT_THAT(to_text(report(), Paint::plain), Not(HasSubstr("\033")));
  EXPECT_THAT(to_text(report(), Paint::coloured), HasSubstr("\033[31m✗"));
}

TEST(DoctorReport, EveryDriverSaysWhatItGivesOrWhyNot) {
  const std::string text = to_text(report(), Paint::plain);
  EXPECT_THAT(text, HasSubstr("not here: needs root"));
  EXPECT_THAT(text, HasSubstr("hint: be root"));
  EXPECT_THAT(text, HasSubstr("isolation process: a process"));
  EXPECT_THAT(text, HasSubstr("subprocess, ran a command in 12 ms"));
}

TEST(DoctorReport, LimitsTellWhatTheyHoldAndWhatNot) {
  const auto list = drivers();
  EXPECT_EQ(describe_limits(at(list[3], "capabilities")),
            "memory (each process), open_files (each process), output, wall_time, cpu_time (each "
            "process); not cpu, pids, disk");
}

TEST(DoctorReport, RepairsAreWholeCommandsInOrder) {
  const std::string text = to_text(report(), Paint::plain);
  EXPECT_THAT(text,
              HasSubstr("to repair:\n\n# cgroups, for limits\ndo this\nand that\n\n# landlock"));
  DoctorReport fine = report();
  fine.checks.resize(1);
  EXPECT_THAT(to_text(fine, Paint::plain), HasSubstr("nothing to repair"));
}

TEST(DoctorReport, IsFitOnlyIfTheDefaultDriverRan) {
  DoctorReport made = report();
  EXPECT_TRUE(made.is_fit());
  made.tryout = {.ran = false, .ms = 0, .trouble = "no room", .hint = "make room"};
  EXPECT_FALSE(made.is_fit());
  EXPECT_THAT(to_text(made, Paint::plain), HasSubstr("could not run a command: no room"));
  made.tryout.ran = true;
  made.default_driver = "";
  EXPECT_FALSE(made.is_fit());
}

TEST(DoctorReport, WithoutAnEngineTheHostIsStillTold) {
  DoctorReport made = report();
  made.drivers = {};
  made.default_driver = "";
  made.trouble = "no launcher";
  const std::string text = to_text(made, Paint::plain);
  EXPECT_THAT(text, HasSubstr("✓ ok      kernel"));
  EXPECT_THAT(text, HasSubstr("no launcher"));
}

TEST(DoctorReport, JsonTellsTheSame) {
  const auto told = parse_answer(to_json(report()));
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(flag_at(*told, "ok"));
  EXPECT_EQ(text_at(*told, "default_driver"), "subprocess");
  const auto& checks = list_at(*told, "checks");
  ASSERT_EQ(checks.size(), 4U);
  EXPECT_EQ(text_at(checks[2], "verdict"), "missing");
  EXPECT_EQ(text_at(checks[2], "repair"), "boot it");
  EXPECT_EQ(list_at(*told, "drivers").size(), 4U);
}

}  // namespace
}  // namespace atl::cli
