// Processes of the host: pidfds, and what /proc tells about them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';          // 'Z' = ended, not yet reaped
  uint64_t start_ticks = 0;  // since boot; some 10 ms each
  uint64_t cpu_ticks = 0;    // user and system, its own
  uint64_t resident_pages = 0;
};

std::optional<ProcessStat> find_process(pid_t pid);
// A snapshot of all processes that /proc shows.
std::vector<ProcessStat> all_processes();

// True if the process's environment, as it was at exec, holds exactly `entry` ("NAME=value"). A
// process can hide this.
bool has_environment(pid_t pid, std::string_view entry);

Result<Fd> open_pidfd(pid_t pid);
// A pidfd for exactly this process, not for a later one with the same pid, unless that one started
// within the same tick.
Result<Fd> open_pidfd(pid_t pid, uint64_t start_ticks);
// As above for who was found below this process, which adopts orphans: a stranger that started
// within the same tick has another parent and another session.
Result<Fd> open_pidfd(const ProcessStat& found);
// True unless a stranger has got the number of `found`: at least one of parent and session is as it
// was, or this process has adopted it.
bool is_still(const ProcessStat& found, const ProcessStat& now);
// Why a process of this host could not be started. That it has none left (EAGAIN) is no quota of
// the caller's: it is Code::unavailable, since it passes, or another host has some.
Error process_error(int saved_errno, std::string_view what);

// ESRCH (already gone) is no error.
Result<> send_signal(const Fd& pidfd, int signal);

// Names this boot of the kernel; pids and boot-clock times mean nothing across two of them.
Result<std::string> boot_id();

}  // namespace atl::os
