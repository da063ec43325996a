#include "agent/proc_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "native/cpuinfo.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr const char* kNames[] = {"meminfo", "stat", "loadavg"};

Micros now() { return system_clock().boot(); }

uint64_t host_memory() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? static_cast<uint64_t>(info.totalram) * info.mem_unit : 0;
}

}  // namespace

ProcFiles::ProcFiles(Fd directory, uint64_t memory_bytes, uint32_t processors, Look look)
    : directory_(std::move(directory)), look_(std::move(look)), last_look_(now()) {
  if (!directory_) return;
  for (size_t i = 0; i < kFiles; ++i) {
    // Never made here: where the launcher has put none, the kernel's are seen.
    auto file = os::open_at(directory_.get(), kNames[i], O_WRONLY | O_NOFOLLOW);
    if (!file) {
      directory_.close();
      return;
    }
    files_[i] = std::move(*file);
  }
  const uint64_t host = host_memory();
  memory_bytes_ = memory_bytes > 0 && (host == 0 || memory_bytes < host) ? memory_bytes : host;
  host_bytes_ = host > 0 ? host : UINT64_MAX;
  processors_.processors = std::clamp<uint32_t>(processors, 1, native::kMostProcessors);
  // The kernel counts the start of each process from its own boot, whatever we say here; ps and top
  // put the two together.
  processors_.booted_at_s = system_clock().wall().time_since_epoch().count() / 1000 -
                            std::chrono::duration_cast<std::chrono::seconds>(now()).count();
  refresh();
  arm();
}

int ProcFiles::read_signal() { return SIGIO; }

void ProcFiles::was_read() {
  if (directory_) pace_.was_read(now());
}

void ProcFiles::nothing_runs() {
  if (directory_) pace_.nothing_runs(now());
}

void ProcFiles::command_began(pid_t pid) {
  if (!directory_) return;
  processors_.last_pid = static_cast<uint64_t>(std::max(pid, 1));
  // A number of the guest's comes round again some time; a count of forks does not fall.
  const bool is_first = processors_.forks == 0;
  processors_.forks = std::max(processors_.forks + 1, processors_.last_pid);
  is_first ? pace_.first_command_began(now()) : pace_.command_began(now());
}

Micros ProcFiles::next_deadline() const { return directory_ ? pace_.next() : Micros(0); }

void ProcFiles::refresh() {
  if (!directory_) return;
  const Micros start = now();
  if (pace_.should_write(start)) {
    write();
    pace_.was_written(start, now() - start);
  } else if (pace_.should_arm(start)) {
    arm();
  }
}

void ProcFiles::arm() {
  // Failing is final: it means that the kernel has no such thing, and then nobody tells.
  static_cast<void>(fcntl(directory_.get(), F_NOTIFY, DN_ACCESS));
  pace_.was_armed();
}

void ProcFiles::write() {
  // Before the first command there is nothing to be seen, and looking is most of the work.
  WorkUsage usage = processors_.forks == 0 ? WorkUsage() : look_();
  const Micros moment = now();
  const Micros before = used_.user() + used_.system();
  used_.update(usage.cpu_us, usage.cpu_user_part, usage.cpu_system_part);
  const Micros worked = used_.user() + used_.system() - before;
  const Micros passed = moment - last_look_;
  last_look_ = moment;
  const double busy =
      passed.count() > 0 ? static_cast<double>(worked.count()) / static_cast<double>(passed.count())
                         : 0;
  load_.add(passed, std::min(busy, static_cast<double>(processors_.processors)));

  auto& use = processors_;
  use.up = moment;
  use.user = used_.user();
  use.system = used_.system();
  use.idle = std::max(use.idle, use.up * use.processors - use.user - use.system);
  // The agent itself is one; whoever reads this runs.
  use.tasks = usage.processes + 1;
  use.running = std::clamp<uint64_t>(static_cast<uint64_t>(std::lround(busy)), 1,
                                     std::min<uint64_t>(use.tasks, use.processors));
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  use.switches =
      static_cast<uint64_t>(children.ru_nvcsw) + static_cast<uint64_t>(children.ru_nivcsw);

  // Where a group tells its limit, that may have been changed since.
  usage.memory.total =
      usage.memory.total > 0 ? std::min(usage.memory.total, host_bytes_) : memory_bytes_;
  put(kMeminfo, meminfo_text(usage.memory));
  put(kStat, stat_text(use));
  put(kLoadavg, loadavg_text(load_, use));
}

void ProcFiles::put(File file, const std::string& text) {
  const int fd = files_[file].get();
  // In place, because a mount shows the file and not its name. A reader may see the new text with
  // the old end for an instant, if the length has changed, which is rare.
  const ssize_t put = pwrite(fd, text.data(), text.size(), 0);
  if (put < 0) return;
  const auto size = static_cast<size_t>(put);
  if (size < sizes_[file]) static_cast<void>(ftruncate(fd, static_cast<off_t>(size)));
  sizes_[file] = size;
}

}  // namespace atl::agent
