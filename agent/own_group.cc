#include "agent/own_group.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "os/file.h"

namespace atl::agent {
namespace {

constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr size_t kLargest = 4096;
constexpr std::string_view kKills = "oom_kill ";
constexpr std::string_view kTime = "usage_usec ";
// What is beyond it is no number of bytes or nanoseconds; version 1 says so of what has no limit.
constexpr uint64_t kMost = 1ULL << 62;

std::optional<uint64_t> number_at_front(std::string_view text) {
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number >= kMost) return std::nullopt;
  const bool ends = read.ptr == text.data() + text.size() || *read.ptr == '\n';
  return ends ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> number_in(const std::string& path) {
  const auto text = os::read_file(AT_FDCWD, path, kLargest);
  return text ? number_at_front(*text) : std::nullopt;
}

std::optional<uint64_t> find_memory(const std::string& root) {
  if (const auto used = number_in(root + "/memory.current")) {
    // An engine's runtime may have set the limit one group further up.
    return std::min(*used, number_in(root + "/memory.max").value_or(kMost));
  }
  // The group of the whole host has such a file, too, and no limit.
  const auto used = number_in(root + "/memory/memory.usage_in_bytes");
  const auto limit = number_in(root + "/memory/memory.limit_in_bytes");
  return used && limit ? std::optional(std::min(*used, *limit)) : std::nullopt;
}

std::optional<uint64_t> find_cpu_us(const std::string& root) {
  if (const auto text = os::read_file(AT_FDCWD, root + "/cpu.stat", kLargest)) {
    const size_t at = text->find(kTime);
    return at == std::string::npos
               ? std::nullopt
               : number_at_front(std::string_view(*text).substr(at + kTime.size()));
  }
  for (const char* tree : {"/cpuacct", "/cpu,cpuacct"}) {
    if (const auto used = number_in(root + tree + "/cpuacct.usage")) return *used / 1000;
  }
  return std::nullopt;
}

// A command may own the place where the kernel's files would be, and put some of its own there.
bool is_of_the_kernel(const std::string& path) {
  struct statfs where{};
  return statfs(path.c_str(), &where) == 0 &&
         (where.f_type == CGROUP2_SUPER_MAGIC || where.f_type == CGROUP_SUPER_MAGIC);
}

}  // namespace

uint64_t count_oom_kills() {
  if (getpid() != 1) return 0;
  // Version 2, then version 1.
  for (const char* path :
       {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}) {
    const auto text = os::read_file(AT_FDCWD, path, kLargest);
    if (!text) continue;
    const size_t at = text->find(kKills);
    return at == std::string::npos ? 0
                                   : std::strtoull(text->c_str() + at + kKills.size(), nullptr, 10);
  }
  return 0;
}

std::optional<OwnUse> find_own_use() {
  const std::string root = kGroups;
  const bool is_told = getpid() == 1 && (is_of_the_kernel(root + "/memory.current") ||
                                         is_of_the_kernel(root + "/memory/memory.usage_in_bytes"));
  return is_told ? read_own_use(root) : std::nullopt;
}

std::optional<OwnUse> read_own_use(const std::string& root) {
  const auto memory = find_memory(root);
  if (!memory) return std::nullopt;
  return OwnUse{*memory, find_cpu_us(root)};
}

}  // namespace atl::agent
