#include "os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "os/file.h"

namespace atl::os {
namespace {

constexpr size_t kStatBytes = 4096;
constexpr size_t kEnvironBytes = 4 << 20;

std::string proc_path(pid_t pid, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  return path;
}

}  // namespace

std::optional<ProcessStat> find_process(pid_t pid) {
  auto text = read_file(AT_FDCWD, proc_path(pid, "stat"), kStatBytes);
  if (!text) return std::nullopt;
  // The command's name stands in parentheses and may hold anything, so the fields count from the
  // last one.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessStat stat;
  stat.pid = pid;
  unsigned long long user = 0, system = 0, start = 0, resident = 0;
  const int fields =
      std::sscanf(text->c_str() + name_end + 1,
                  " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d "
                  "%*d %*d %*d %llu %*u %llu",
                  &stat.state, &stat.parent, &stat.session, &user, &system, &start, &resident);
  if (fields != 7) return std::nullopt;
  stat.start_ticks = start;
  stat.cpu_ticks = user + system;
  stat.resident_pages = resident;
  return stat;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> processes;
  std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (!proc) return processes;
  while (const dirent* entry = readdir(proc.get())) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    if (auto stat = find_process(std::atoi(entry->d_name))) processes.push_back(*stat);
  }
  return processes;
}

bool has_environment(pid_t pid, std::string_view entry) {
  auto text = read_file(AT_FDCWD, proc_path(pid, "environ"), kEnvironBytes);
  if (!text) return false;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = rest.find('\0');
    if (rest.substr(0, end) == entry) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
  return false;
}

Result<Fd> open_pidfd(pid_t pid) {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return os_error("opening a pidfd");
  return fd;
}

Result<Fd> open_pidfd(pid_t pid, uint64_t start_ticks) {
  TRY(auto fd, open_pidfd(pid));
  // Looked at after the pidfd is held: from now on the pid cannot be given to anybody else
  // unnoticed.
  const auto stat = find_process(pid);
  if (!stat || stat->start_ticks != start_ticks || stat->state == 'Z') {
    return Error(Code::not_found, "the process has ended");
  }
  return fd;
}

Result<Fd> open_pidfd(const ProcessStat& found) {
  TRY(auto fd, open_pidfd(found.pid));
  const auto stat = find_process(found.pid);
  if (!stat || stat->state == 'Z' || !is_still(found, *stat))
    return Error(Code::not_found, "the process has ended");
  return fd;
}

bool is_still(const ProcessStat& found, const ProcessStat& now) {
  return now.start_ticks == found.start_ticks &&
         (now.parent == found.parent || now.session == found.session || now.parent == getpid());
}

Error process_error(int saved_errno, std::string_view what) {
  if (saved_errno != EAGAIN) return os_error_from(saved_errno, what);
  return Error(Code::unavailable, std::string(what) + ": this host has no process left");
}

Result<> send_signal(const Fd& pidfd, int signal) {
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0 && errno != ESRCH) {
    return os_error("sending a signal");
  }
  return {};
}

Result<std::string> boot_id() {
  TRY(auto text, read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace atl::os
