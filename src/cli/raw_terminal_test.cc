#include "cli/raw_terminal.h"

#include <gtest/gtest.h>

namespace atl::cli {
namespace {

TEST(LeaveKeys, PassEverythingElseOn) {
  LeaveKeys keys;
  EXPECT_EQ(keys.pass("ls\r"), "ls\r");
  EXPECT_EQ(keys.pass("\x11\x03"), "\x11\x03");
  EXPECT_EQ(keys.pass("\x10x"), "\x10x");
  EXPECT_FALSE(keys.are_complete());
}

TEST(LeaveKeys, AreFoundAcrossPieces) {
  LeaveKeys keys;
  EXPECT_EQ(keys.pass("one\x10"), "one");
  EXPECT_FALSE(keys.are_complete());
  EXPECT_EQ(keys.pass("\x11two"), "");
  EXPECT_TRUE(keys.are_complete());
}

TEST(LeaveKeys, MayFollowAnotherCtrlP) {
  LeaveKeys keys;
  EXPECT_EQ(keys.pass("a\x10\x10\x11"), "a\x10");
  EXPECT_TRUE(keys.are_complete());
}

}  // namespace
}  // namespace atl::cli
