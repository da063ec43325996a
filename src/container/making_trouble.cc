#include "container/making_trouble.h"

#include <algorithm>

#include "container/json_at_internal.h"

namespace atl::container {
namespace {

// Limits that are too small to start with.
constexpr std::string_view kOfLimits[] = {"memory limit too low",  "oom-killed",     "OOM-killed",
                                          "minimum memory",        "Minimum memory", "CPUs is from",
                                          "cannot be smaller than"};

// What the kernel says of a limit that it does not take; where the file is missing, or may not be
// written, the engine lacks its control groups.
constexpr std::string_view kLimitFiles[] = {"pids.max", "cpu.", "memory."};
constexpr std::string_view kRefusals[] = {"nvalid argument", "esource busy", "out of range"};

// An image without what a container is made of, or of another machine.
constexpr std::string_view kOfImages[] = {"not a directory", "is a directory", "exec format error",
                                          "unable to find user", "no matching entries"};

// What docker says with status 400 of a runtime or a shim that it cannot start.
constexpr std::string_view kOfRuntimes[] = {"start shim", "fork/exec",
                                            "unable to retrieve OCI runtime error"};

template <size_t count>
bool has_one(std::string_view text, const std::string_view (&words)[count]) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has_word(text, word); });
}

bool is_engines(const Error& why) {
  const std::string& told = why.message();
  if (why.code() == Code::invalid_argument) return has_one(told, kOfRuntimes);
  const bool is_limits =
      has_one(told, kOfLimits) || (has_one(told, kLimitFiles) && has_one(told, kRefusals));
  return why.code() == Code::internal && !is_limits && !has_one(told, kOfImages);
}

// Why the engine makes no containers, as far as its words tell.
std::string hint_for(std::string_view told) {
  if (has_word(told, "setrlimit")) {
    return "the engine asks for higher limits than it may give: set default_ulimits in its "
           "containers.conf, below `[containers]`";
  }
  if (has_word(told, "nr_inodes"))
    return "this engine is Podman, it seems: take driver podman, and name its socket in "
           "CONTAINER_HOST";
  return "the engine answers and makes no containers: its runtime or its storage is broken; its "
         "own log tells more";
}

}  // namespace

Error told_while_making(Error why, const ContainerSpec& made) {
  // A runtime that somebody names says nothing of the engine's own, which all others get.
  if (!made.runtime.empty() || !is_engines(why)) return why;
  return Error(Code::unavailable, why.message(), why.os_errno()).with_hint(hint_for(why.message()));
}

}  // namespace atl::container
