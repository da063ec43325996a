#include "cli/verb.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace atl::cli {
namespace {

// As a terminal counts: a byte that continues a character has no column.
size_t columns(std::string_view line) {
  size_t count = 0;
  for (const char c : line) count += (static_cast<uint8_t>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

TEST(Verbs, OfAGroupStandTogether) {
  std::set<std::string_view> closed;
  std::string_view open;
  for (const Verb* verb : all_verbs()) {
    const std::string_view headline = verb->group.headline();
    if (headline == open) continue;
    EXPECT_TRUE(closed.insert(headline).second)
        << headline << " comes back: " << verb->grammar.verb;
    open = headline;
  }
  EXPECT_GT(closed.size(), 1U);
}

TEST(Verbs, HelpHasEachUnderItsHeadlineIn80Columns) {
  std::istringstream help(describe_verbs());
  std::set<std::string_view> told;
  std::string headline;
  for (std::string line, before; std::getline(help, line); before = line) {
    EXPECT_LE(columns(line), 80U) << line;
    if (before.empty() && !line.empty() && !line.starts_with(' ')) headline = line;
    if (!line.starts_with("  ")) continue;
    const Verb* verb = find_verb(line.substr(2, line.find(' ', 2) - 2));
    ASSERT_NE(verb, nullptr) << line;
    EXPECT_EQ(headline, verb->group.headline()) << line;
    EXPECT_EQ(line.find(verb->summary), 13U) << line;
    told.insert(verb->grammar.verb);
  }
  EXPECT_EQ(told.size(), all_verbs().size());
}

}  // namespace
}  // namespace atl::cli
