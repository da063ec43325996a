#include "agent/proc_text.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace atl::agent {
namespace {

constexpr int64_t kTick = 10'000;  // microseconds: USER_HZ is 100 on every Linux that we build for
constexpr double kMinutes[3] = {1, 5, 15};

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) text.append(line, std::min<size_t>(static_cast<size_t>(length), sizeof line - 1));
}

// Who reads to the end reads twice, and a text that has grown in between has a tail of its own.
constexpr size_t kStep = 512;
constexpr size_t kLoadavgLength = 48;

std::string padded(std::string line, size_t length) {
  if (line.size() < length) line.insert(line.size() - 1, length - line.size(), ' ');
  return line;
}

using Number = unsigned long long;

// A processor's part of a number that is spread evenly: the parts make up the whole, and none falls
// while the whole grows.
int64_t part_of(int64_t whole, uint32_t index, uint32_t count) {
  return (whole + count - 1 - index) / count;
}

}  // namespace

std::string meminfo_text(const MemoryUse& memory) {
  std::string text;
  text.reserve(1600);
  const auto line = [&](const char* name, uint64_t bytes) {
    append(text, "%-15s %8llu kB\n", name, static_cast<Number>(bytes / 1024));
  };
  const uint64_t used = std::min(memory.used, memory.total);
  const uint64_t free = memory.total - used;
  // What the kernel would give up before it calls memory short.
  const uint64_t given_up = memory.active_file + memory.inactive_file + memory.slab_reclaimable;
  line("MemTotal:", memory.total);
  line("MemFree:", free);
  line("MemAvailable:", free + std::min(given_up, used));
  line("Buffers:", 0);
  line("Cached:", std::min(memory.cached, used));
  line("SwapCached:", 0);
  line("Active:", memory.active_anon + memory.active_file);
  line("Inactive:", memory.inactive_anon + memory.inactive_file);
  line("Active(anon):", memory.active_anon);
  line("Inactive(anon):", memory.inactive_anon);
  line("Active(file):", memory.active_file);
  line("Inactive(file):", memory.inactive_file);
  line("Unevictable:", 0);
  line("Mlocked:", 0);
  line("SwapTotal:", 0);
  line("SwapFree:", 0);
  line("Dirty:", 0);
  line("Writeback:", 0);
  const uint64_t anon = memory.active_anon + memory.inactive_anon;
  line("AnonPages:", anon - std::min(anon, memory.shared));
  line("Mapped:", memory.mapped);
  line("Shmem:", memory.shared);
  line("KReclaimable:", memory.slab_reclaimable);
  line("Slab:", memory.slab_reclaimable + memory.slab_unreclaimable);
  line("SReclaimable:", memory.slab_reclaimable);
  line("SUnreclaim:", memory.slab_unreclaimable);
  line("KernelStack:", memory.kernel_stack);
  line("PageTables:", memory.page_tables);
  line("CommitLimit:", memory.total);
  line("Committed_AS:", used);
  line("VmallocTotal:", uint64_t{1} << 45);
  line("VmallocUsed:", 0);
  line("VmallocChunk:", 0);
  line("AnonHugePages:", 0);
  for (const char* name : {"Total:", "Free: ", "Rsvd: ", "Surp: "})
    append(text, "HugePages_%s   %5d\n", name, 0);
  line("Hugepagesize:", 2 << 20);
  return text;
}

std::string stat_text(const ProcessorUse& use) {
  const uint32_t count = use.processors;
  std::string text;
  text.reserve(400 + size_t{64} * count);
  const auto line = [&](const char* name, int64_t user, int64_t system, int64_t idle) {
    append(text, "%s %lld 0 %lld %lld 0 0 0 0 0 0\n", name, static_cast<long long>(user),
           static_cast<long long>(system), static_cast<long long>(idle));
  };
  const int64_t user = use.user.count() / kTick;
  const int64_t system = use.system.count() / kTick;
  const int64_t idle = use.idle.count() / kTick;
  line("cpu ", user, system, idle);
  for (uint32_t i = 0; i < count; ++i) {
    line(("cpu" + std::to_string(i)).c_str(), part_of(user, i, count), part_of(system, i, count),
         part_of(idle, i, count));
  }
  const size_t intr = text.size() + std::string_view("intr 0").size();
  append(text, "intr 0\nctxt %llu\nbtime %lld\nprocesses %llu\n", static_cast<Number>(use.switches),
         static_cast<long long>(use.booted_at_s), static_cast<Number>(use.forks));
  append(text, "procs_running %llu\nprocs_blocked 0\n", static_cast<Number>(use.running));
  append(text, "softirq 0 0 0 0 0 0 0 0 0 0 0\n");
  // The kernel's line of interrupts is as long as there are kinds of them.
  for (size_t slack = (kStep - text.size() % kStep) % kStep; slack > 0;) {
    text.insert(intr, slack > 1 ? " 0" : " ");
    slack -= std::min<size_t>(slack, 2);
  }
  return text;
}

void LoadAverage::add(Micros passed, double busy) {
  const double minutes = static_cast<double>(passed.count()) / 60e6;
  if (minutes <= 0) return;
  for (int i = 0; i < 3; ++i) {
    const double kept = std::exp(-minutes / kMinutes[i]);
    averages_[i] = averages_[i] * kept + busy * (1 - kept);
  }
}

std::string loadavg_text(const LoadAverage& load, const ProcessorUse& use) {
  std::string text;
  append(text, "%.2f %.2f %.2f %llu/%llu %llu\n", load.one(), load.five(), load.fifteen(),
         static_cast<Number>(use.running), static_cast<Number>(use.tasks),
         static_cast<Number>(use.last_pid));
  return padded(std::move(text), kLoadavgLength);
}

void SplitTime::update(uint64_t total_us, uint64_t user_part, uint64_t system_part) {
  const uint64_t system_before = total_us_ - user_us_;
  total_us_ = std::max(total_us_, total_us);
  const double parts = static_cast<double>(user_part) + static_cast<double>(system_part);
  const double share = parts > 0 ? static_cast<double>(user_part) / parts : 1;
  const auto wanted = static_cast<uint64_t>(static_cast<double>(total_us_) * share);
  user_us_ = std::clamp(wanted, user_us_, total_us_ - system_before);
}

}  // namespace atl::agent
