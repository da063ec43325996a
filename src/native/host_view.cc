#include "native/host_view.h"

#include <dirent.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "native/cpuinfo.h"

namespace atl::native {
namespace {

constexpr const char* kSystem[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// Public by nature: programs and libraries need them, and no administrator keeps a secret there.
constexpr const char* kEtc[] = {
    "alternatives",    "ld.so.cache",     "ld.so.conf",    "ld.so.conf.d", "ssl/certs",
    "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "localtime",    "timezone",
    "services",        "protocols",       "mime.types",    "magic",        "magic.mime",
    "debian_version",  "os-release",      "lsb-release",   "locale.alias", "python3",
    "python3.11",      "python3.12",      "python3.13",    "terminfo",     "fonts",
    "java-17-openjdk", "java-21-openjdk", "perl",          "vim",          "bash_completion.d",
};

// Where only the host's administrator installs programs.
constexpr const char* kRuntimes[] = {"/usr/local/bin/runsc", "/usr/bin/runsc"};

std::optional<HostEntry> look_at(const std::string& path, std::string name) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  HostEntry entry{std::move(name), HostEntryKind::file, "", info.st_ino};
  if (S_ISDIR(info.st_mode)) entry.kind = HostEntryKind::directory;
  if (S_ISLNK(info.st_mode)) {
    char target[4096];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return std::nullopt;
    entry.kind = HostEntryKind::link;
    entry.target.assign(target, static_cast<size_t>(length));
  }
  return entry;
}

std::optional<HostEntry> look_at(const dirent& found) {
  if (found.d_type == DT_REG) return HostEntry{found.d_name, HostEntryKind::file, "", found.d_ino};
  if (found.d_type == DT_DIR)
    return HostEntry{found.d_name, HostEntryKind::directory, "", found.d_ino};
  return look_at(std::string("/proc/") + found.d_name, found.d_name);
}

bool is_process(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// Beside the launcher; the daemon, which only explains a plan, knows where that is.
std::string find_beside(const std::string& name) {
  const auto self = look_at("/proc/self/exe", "");
  if (!self) return "";
  const std::string here = self->target.substr(0, self->target.rfind('/') + 1);
  for (const char* place : {"", "../libexec/atoll/"}) {
    std::string path = here;
    path.append(place).append(name);
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return "";
}

}  // namespace

std::string find_runtime() {
  for (const char* path : kRuntimes)
    if (access(path, X_OK) == 0) return path;
  return "";
}

HostView view_host() {
  HostView view;
  for (const char* name : kSystem) {
    if (auto entry = look_at(std::string("/") + name, name)) view.system.push_back(*entry);
  }
  for (const char* name : kEtc) {
    if (auto entry = look_at(std::string("/etc/") + name, name)) view.etc.push_back(*entry);
  }
  std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* found = proc ? readdir(proc.get()) : nullptr) {
    const std::string name = found->d_name;
    if (name == "." || name == ".." || is_process(name)) continue;
    if (auto entry = look_at(*found)) view.proc.push_back(*entry);
  }
  std::ranges::sort(view.proc, {}, &HostEntry::name);
  view.sudo_program = find_beside("atoll-sudo");
  view.agent_program = find_beside("atoll-agent");
  view.statx_library = find_beside("atoll-statx.so");
  view.runtime_program = find_runtime();
  view.warm_directory = find_beside("warm");
  view.has_usr_local_etc = access("/usr/local/etc", F_OK) == 0;

  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    view.processors = static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
  }
  view.processor = host_processor();
  struct sysinfo info{};
  if (sysinfo(&info) == 0) view.memory_bytes = static_cast<uint64_t>(info.totalram) * info.mem_unit;
  return view;
}

}  // namespace atl::native
