// An OCI runtime and the one container that it runs for us: the bundle, the call, the end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
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

// Descriptors for the runtime are above the places that it finds them in.
constexpr int kRuntimeAside = 64;

// What the first process begins with: nothing, or a directory with what RuntimeOrder::keep has left
// there.
constexpr int kNoImage = -1;
constexpr const char* kImageFile = "checkpoint.img";

// Starts the container under a runtime that ends with it, and it with the runtime. `input` becomes
// the first process's stdin, also where that goes on from an image.
Result<StartedRuntime> start_runtime(const RuntimeGroups& groups, const Fd& input, int image);

enum class RuntimeOrder : uint8_t {
  pause,
  resume,
  keep,  // its memory into the directory `image`, as kImageFile; the container is of no use then
};

// Has the runtime do something to the container, and waits for it. An error says what it said.
Result<> order_runtime(const RuntimeGroups& groups, RuntimeOrder order, int image = kNoImage);

// Ends every process of the box but ourselves, the runtime and its container among them, and takes
// away what it has noted. Only as the box's first process. `signals` tells of SIGCHLD.
Result<> end_runtime(const Fd& signals);

}  // namespace atl::native
