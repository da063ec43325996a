#include "core/transitions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "json/describe.h"

namespace atl {
namespace {

using enum State;

const std::set<State> kAll = {pending,  starting, running,   paused,
                              stopping, stopped,  destroyed, failed};

TEST(Transitions, AreJustThese) {
  const std::map<State, std::set<State>> expected = {
      {pending, {starting, failed, stopping}},
      {starting, {running, failed, stopped, paused, stopping}},
      {running, {paused, stopping, starting, failed}},
      {paused, {running, stopping, starting, failed}},
      {stopping, {stopped, destroyed, running, paused, failed}},
      {stopped, {starting, stopping, failed}},
      {failed, {starting, stopping}},
      {destroyed, {}},
  };
  for (const State from : kAll) {
    for (const State to : kAll) {
      EXPECT_EQ(is_legal(from, to), expected.at(from).contains(to))
          << json::name_of(from) << " → " << json::name_of(to);
    }
  }
}

TEST(Transitions, EveryStateCanReachDestroyed) {
  for (const State start : kAll) {
    std::set<State> reached = {start};
    for (size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const State from : std::set<State>(reached)) {
        for (const State to : kAll) {
          if (is_legal(from, to)) reached.insert(to);
        }
      }
    }
    EXPECT_TRUE(reached.contains(destroyed)) << json::name_of(start);
  }
}

}  // namespace
}  // namespace atl
