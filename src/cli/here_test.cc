#include "cli/here.h"

#include <gmock/gmock.h>

namespace atl::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

DriverOffer subprocess() {
  return {.name = "subprocess",
          .available = true,
          .isolation = Isolation::process,
          .ro = true,
          .rw = true};
}
DriverOffer local() {
  return {.name = "local", .available = true, .isolation = Isolation::none, .rw = true};
}
DriverOffer native() {
  return {.name = "native",
          .available = true,
          .isolation = Isolation::container,
          .ro = true,
          .rw = true,
          .cow = true};
}

TEST(Here, IsCopyOnWriteWhereTheDriverCan) {
  const auto choice = choose_here(Here::automatic, {}, {native(), subprocess()});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->access, HostAccess::cow);
  EXPECT_THAT(choice->notice, IsEmpty());
}

TEST(Here, FallsToReadOnlyAndSaysSo) {
  const auto choice = choose_here(Here::automatic, {}, {subprocess(), local()});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->access, HostAccess::ro);
  EXPECT_THAT(choice->notice, HasSubstr("read-only"));
}

TEST(Here, NeverFallsToWritingIntoTheUsersFiles) {
  const auto choice = choose_here(Here::automatic, {.driver = "local"}, {subprocess(), local()});

  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::unsupported);
  EXPECT_THAT(choice.error().hint(), HasSubstr("--here=rw"));
}

TEST(Here, WritingIsThereForWhoeverAsks) {
  const auto choice = choose_here(Here::rw, {.driver = "local"}, {subprocess(), local()});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->access, HostAccess::rw);
}

TEST(Here, CopyOnWriteOnADriverWithoutItNamesThoseThatCan) {
  const auto choice = choose_here(Here::cow, {.driver = "subprocess"}, {native(), subprocess()});

  ASSERT_FALSE(choice);
  EXPECT_THAT(choice.error().message(), HasSubstr("subprocess cannot"));
  EXPECT_THAT(choice.error().hint(), HasSubstr("native"));
}

TEST(Here, LooksOnlyAtDriversAboveTheFloor) {
  const auto choice = choose_here(Here::automatic, {.min_isolation = Isolation::container},
                                  {subprocess(), native()});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->access, HostAccess::cow);
}

TEST(Here, ADriverThatDoesNotAnswerPromisesNothing) {
  DriverOffer away = native();
  away.available = false;

  const auto choice = choose_here(Here::automatic, {}, {away, subprocess()});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->access, HostAccess::ro);
}

TEST(Here, WithNobodyToServeTheRequestTheRouterExplains) {
  const auto choice = choose_here(Here::cow, {.driver = "nosuch"}, {subprocess()});

  EXPECT_TRUE(choice);
}

TEST(Here, TheCurrentDirectoryBecomesTheWorkspace) {
  WireCreate request;

  ASSERT_TRUE(add_here(request, HostAccess::ro));

  ASSERT_EQ(request.host_dirs->size(), 1u);
  EXPECT_TRUE(request.host_dirs->front().path.starts_with('/'));
  EXPECT_EQ(request.host_dirs->front().workspace, true);
  EXPECT_EQ(request.host_dirs->front().access, HostAccess::ro);
}

}  // namespace
}  // namespace atl::cli
