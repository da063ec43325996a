#include "cli/copy_paths.h"

#include <gtest/gtest.h>

#include "cli/args.h"

namespace atl::cli {
namespace {

using Direction = CopyPlan::Direction;

TEST(CopyPlan, TheSideWithAColonIsTheSandbox) {
  const auto up = plan_copy("notes.txt", "box:dir/");
  const auto down = plan_copy("box:/etc/hosts", ".");

  ASSERT_TRUE(up && down);
  EXPECT_EQ(up->direction, Direction::upload);
  EXPECT_EQ(up->sandbox, "box");
  EXPECT_EQ(up->remote, "dir/");
  EXPECT_EQ(down->direction, Direction::download);
  EXPECT_EQ(down->remote, "/etc/hosts");
  EXPECT_EQ(down->local, ".");
}

TEST(CopyPlan, APathWithAColonIsAPathWhenItLooksLikeOne) {
  const auto plan = plan_copy("./a:b", "box:");

  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->local, "./a:b");
  EXPECT_EQ(plan->remote, ".");
}

TEST(CopyPlan, NeedsExactlyOneSandbox) {
  EXPECT_TRUE(is_usage_error(plan_copy("a", "b").error()));
  EXPECT_TRUE(is_usage_error(plan_copy("x:a", "y:b").error()));
}

TEST(PlaceIn, GoesIntoADirectoryAndOntoAFile) {
  EXPECT_EQ(place_in("dir", "a/b.txt", true), "dir/b.txt");
  EXPECT_EQ(place_in("dir/", "a/b.txt", false), "dir/b.txt");
  EXPECT_EQ(place_in("new.txt", "a/b.txt", false), "new.txt");
  EXPECT_EQ(place_in("dir", "tree/", true), "dir/tree");
  EXPECT_EQ(place_in("dir", "tree/.", true), "dir");
}

}  // namespace
}  // namespace atl::cli
