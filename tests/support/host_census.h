// What of ours is on the host right now, by name, so that a test can say what was left behind.
//
//   const auto before = HostCensus::take(root.path());
//   …
//   EXPECT_EQ(HostCensus::take(root.path()).since(before), "");
//
// "Of ours" means: belonging to the directory `root`, or to that of the container engine that the
// test has for itself. Other tests, and other people's sandboxes, may run beside us.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace atl::test {

// The variable in which tests/support/engines.py names the directory of a test's engine.
constexpr const char* kTestEngine = "ATOLL_TEST_ENGINE";

struct CountedProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string command;
};

class HostCensus final {
 public:
  static HostCensus take(const std::string& root);

  // Processes that hold, stand in, or carry in their environment or arguments a path below `root`,
  // and everything below those; without this process, and without zombies, which an init that does
  // not reap would keep for ever.
  static std::vector<CountedProcess> processes_of(const std::string& root);

  // One line per difference ("processes: + atoll-agent"), empty if there is none. Cgroups that have
  // gone are none: they were the remains of somebody who was killed.
  std::string since(const HostCensus& before) const;

 private:
  // kind → names: processes, mounts, cgroups, descriptors (of this process), files (below the root)
  std::map<std::string, std::multiset<std::string>> found_;
};

}  // namespace atl::test
