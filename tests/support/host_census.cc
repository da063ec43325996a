#include "tests/support/host_census.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "os/file.h"
#include "os/process.h"

namespace atl::test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestProcFile = 4 << 20;
constexpr pid_t kKernelThreads = 2;

std::string read_proc(pid_t pid, const char* name) {
  return os::read_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/" + name, kLargestProcFile)
      .value_or("");
}

std::string link_of(const fs::path& path) {
  std::error_code ignored;
  return fs::read_symlink(path, ignored).string();
}

std::vector<std::string> descriptors_of(const std::string& process) {
  std::vector<std::string> links;
  std::error_code failure;
  for (fs::directory_iterator it("/proc/" + process + "/fd", failure), end; !failure && it != end;
       it.increment(failure)) {
    links.push_back(link_of(it->path()));
  }
  return links;
}

bool touches(pid_t pid, const std::string& root) {
  const auto in_root = [&](const std::string& text) {
    return text.find(root) != std::string::npos;
  };
  if (in_root(read_proc(pid, "cmdline")) || in_root(read_proc(pid, "environ"))) return true;
  if (in_root(link_of("/proc/" + std::to_string(pid) + "/cwd"))) return true;
  return std::ranges::any_of(descriptors_of(std::to_string(pid)), in_root);
}

std::string command_of(pid_t pid) {
  std::string command = read_proc(pid, "cmdline");
  std::ranges::replace(command, '\0', ' ');
  return command.substr(0, 120);
}

bool is_in_use(const fs::path& cgroup) {
  std::error_code failure;
  const auto has_members = [](const fs::path& group) {
    std::ifstream procs(group / "cgroup.procs");
    std::string pid;
    return static_cast<bool>(std::getline(procs, pid));
  };
  if (has_members(cgroup)) return true;
  for (fs::recursive_directory_iterator it(cgroup, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && has_members(it->path())) return true;
  }
  return false;
}

// As docker and podman call the cgroup of a container.
bool is_containers(std::string_view name) {
  if (name.starts_with("libpod-")) name.remove_prefix(7);
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// Of this engine's, and not of one that somebody else has started meanwhile: docker's have a tree
// of their own (tests/support/engines.py), podman's share theirs.
bool is_containers_of(const std::string& engine, const fs::path& cgroup) {
  const std::string own = fs::path(engine).filename().string();
  const std::string tree = own.starts_with("atoll-docker-") ? own : "libpod_parent";
  return is_containers(cgroup.filename().string()) &&
         cgroup.string().find("/" + tree + "/") != std::string::npos;
}

// "socket:[1234]" and "socket:[1235]" are the same kind of thing.
std::string without_number(const std::string& link) {
  const size_t bracket = link.find(":[");
  return bracket == std::string::npos ? link : link.substr(0, bracket);
}

}  // namespace

std::vector<CountedProcess> HostCensus::processes_of(const std::string& root) {
  const auto all = os::all_processes();
  std::set<pid_t> members;
  for (const auto& process : all) {
    const bool is_kernels = process.pid == kKernelThreads || process.parent == kKernelThreads;
    if (process.state == 'Z' || process.pid == getpid() || is_kernels) continue;
    if (touches(process.pid, root)) members.insert(process.pid);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& process : all) {
      if (members.contains(process.parent) && members.insert(process.pid).second) grown = true;
    }
  }
  std::vector<CountedProcess> counted;
  for (const auto& process : all) {
    if (process.state == 'Z' || !members.contains(process.pid)) continue;
    counted.push_back({process.pid, process.parent, command_of(process.pid)});
  }
  return counted;
}

HostCensus HostCensus::take(const std::string& root) {
  HostCensus census;
  auto& found = census.found_;
  const char* const engine = getenv(kTestEngine);
  std::vector<std::string> roots{root};
  if (engine != nullptr) roots.emplace_back(engine);
  for (const auto& one : roots) {
    for (auto& process : processes_of(one)) found["processes"].insert(std::move(process.command));
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      // Podman mounts its storage on itself while it uses it, whatever containers there are.
      const bool is_storage = line.find(one + "/data/overlay ") != std::string::npos;
      if (line.find(one) != std::string::npos && !is_storage) found["mounts"].insert(line);
    }
  }

  std::set<std::string> names;
  std::error_code failure;
  for (fs::recursive_directory_iterator it(root, failure), end; !failure && it != end;
       it.increment(failure)) {
    found["files"].insert(it->path().string().substr(root.size()));
    names.insert(it->path().filename().string());
  }

  // A cgroup of ours bears a sandbox's name. If one of that name has processes, in whatever tree,
  // it is somebody's living sandbox, maybe not of this world; if it is of this world, its processes
  // are counted above.
  std::map<std::string, std::vector<fs::path>> groups;
  failure.clear();
  for (fs::recursive_directory_iterator it("/sys/fs/cgroup", failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    const bool is_ours = engine != nullptr ? is_containers_of(engine, it->path())
                                           : name.starts_with("sbx") || names.contains(name);
    if (is_ours && it->is_directory(ignored)) groups[name].push_back(it->path());
  }
  for (const auto& [name, paths] : groups) {
    if (std::ranges::any_of(paths, is_in_use)) continue;
    for (const auto& path : paths) found["cgroups"].insert(path.string());
  }

  for (const auto& link : descriptors_of("self")) found["descriptors"].insert(without_number(link));
  return census;
}

std::string HostCensus::since(const HostCensus& before) const {
  static const std::multiset<std::string> kNone;
  const auto of = [](const HostCensus& census,
                     const std::string& kind) -> const std::multiset<std::string>& {
    const auto it = census.found_.find(kind);
    return it == census.found_.end() ? kNone : it->second;
  };
  std::string difference;
  const auto tell = [&](const std::string& kind, char sign, const std::multiset<std::string>& more,
                        const std::multiset<std::string>& less) {
    std::vector<std::string> names;
    std::ranges::set_difference(more, less, std::back_inserter(names));
    for (const auto& name : names) difference += kind + ": " + sign + " " + name + "\n";
  };
  for (const std::string kind : {"processes", "mounts", "cgroups", "descriptors", "files"}) {
    tell(kind, '+', of(*this, kind), of(before, kind));
    // Whoever starts a launcher sweeps away the empty cgroups of one that was killed before.
    if (kind != "cgroups") tell(kind, '-', of(before, kind), of(*this, kind));
  }
  return difference;
}

}  // namespace atl::test
