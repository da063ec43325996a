#include "native/cpuinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::native {
namespace {

constexpr const char* kEntry =
    "processor\t: 7\nvendor_id\t: Maker\nmodel name\t: Some: Processor\nphysical id\t: 1\n"
    "siblings\t: 64\ncore id\t\t: 31\ncpu cores\t: 32\nflags\t\t: fpu sse2\npower management:\n";

TEST(Cpuinfo, NumbersTheEntriesAnewInOneSocket) {
  EXPECT_EQ(cpuinfo_text(kEntry, 2),
            "processor\t: 0\nvendor_id\t: Maker\nmodel name\t: Some: Processor\nphysical id\t: 0\n"
            "siblings\t: 2\ncore id\t\t: 0\ncpu cores\t: 2\nflags\t\t: fpu sse2\n"
            "power management:\n\n"
            "processor\t: 1\nvendor_id\t: Maker\nmodel name\t: Some: Processor\nphysical id\t: 0\n"
            "siblings\t: 2\ncore id\t\t: 1\ncpu cores\t: 2\nflags\t\t: fpu sse2\n"
            "power management:\n\n");
}

TEST(Cpuinfo, CountsEvenWhenTheHostTellsNothing) {
  EXPECT_EQ(cpuinfo_text("", 2), "processor\t: 0\n\nprocessor\t: 1\n\n");
}

TEST(Cpuinfo, StaysSmallOnHugeMachines) {
  const std::string entry = kEntry + ("flags\t\t: " + std::string(3000, 'x')) + "\n";

  EXPECT_LT(cpuinfo_text(entry, 1'000'000).size(), size_t{512} * 1024);
}

TEST(Cpuinfo, TheHostHasAProcessor) {
  EXPECT_THAT(host_processor(), testing::StartsWith("processor"));
  EXPECT_THAT(host_processor(), testing::Not(testing::HasSubstr("\n\n")));
}

}  // namespace
}  // namespace atl::native
