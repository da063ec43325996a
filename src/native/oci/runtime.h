// An OCI runtime and the one container that it runs for us: the bundle, the call, the end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "native/box_facts.h"

namespace atl::native {

// Where native/root_plan.cc puts them; nothing in the container sees either.
constexpr const char* kRuntimeProgram = "/dev/runsc";
constexpr const char* kRuntimeDirectory = "/dev/runtime";

// Writes bundle/config.json into the runtime's directory.
Result<> write_bundle(const std::string& config);

// `work` of each cgroup tree with what it is good for; everything that is joined holds for the
// runtime and all that it starts.
struct RuntimeGroups {
  CgroupVersion version = CgroupVersion::none;
  std::vector<Fd> work;
};

struct StartedRuntime {
  pid_t pid = 0;
  Fd messages;  // what it and the first process write to stdout and stderr; non-blocking
};

// Starts `runsc run`, which ends with the container, and the container with it. `input` becomes the
// first process's stdin.
Result<StartedRuntime> start_runtime(const RuntimeGroups& groups, const Fd& input);

}  // namespace atl::native
