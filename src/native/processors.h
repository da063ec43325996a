// Processors that belong to one sandbox: no other sandbox of Atoll's runs on them.
//
// Without any such sandbox nothing is pinned. With one, all others are kept off its processors; at
// least one is always left to them. Programs of the host itself are not touched.
//
// Version 1 has a tree for this, with one group for all who share and one for each who does not; on
// version 2 it is a setting of every sandbox's own group.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "native/cgroup.h"

namespace atl::native {

using ProcessorSet = std::set<int>;

// "0-2,5" and back, as the kernel writes them.
Result<ProcessorSet> parse_processors(std::string_view text);
std::string to_text(const ProcessorSet& processors);

class Processors final {
 public:
  explicit Processors(const CgroupSlice& slice) : slice_(slice) {}

  // Whether this host can do it at all; the reason otherwise.
  Result<> check() const;

  // Picks `count` that nobody has yet and takes them away from all others.
  Result<ProcessorSet> take(const std::string& id, size_t count);
  // What an earlier launcher has given.
  void adopt(const std::string& id, ProcessorSet processors);
  void give_back(const std::string& id);
  // Removes the groups that nobody is in (v1).
  void remove_if_empty() const;

  // Where the first process of a new sandbox has to be (v1); empty when nothing is to be joined.
  Result<Fd> join(const std::string& id);
  // Pins the sandbox's own group (v2).
  Result<> pin(const std::string& id) const;

 private:
  ProcessorSet all() const;
  ProcessorSet shared() const;
  Result<> apply();

  const CgroupSlice& slice_;
  std::map<std::string, ProcessorSet> owned_;
};

}  // namespace atl::native
