#include "agent/oom_count.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "os/file.h"

namespace atl::agent {
namespace {

constexpr size_t kLargest = 4096;
constexpr std::string_view kField = "oom_kill ";

}  // namespace

uint64_t count_oom_kills() {
  if (getpid() != 1) return 0;
  // Version 2, then version 1.
  for (const char* path :
       {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}) {
    const auto text = os::read_file(AT_FDCWD, path, kLargest);
    if (!text) continue;
    const size_t at = text->find(kField);
    return at == std::string::npos ? 0
                                   : std::strtoull(text->c_str() + at + kField.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace atl::agent
