// The files of /proc that tell how large and how busy the machine is (here, the sandbox): meminfo,
// stat and loadavg. cpuinfo never changes; the launcher has written it.
//
// The launcher has put empty files over the kernel's; the guest reads them, and only the agent can
// write them, in place. A reader never waits: what it finds was written when a command last began
// or somebody last read (agent/refresh_pace.h).
//
// Readers are noticed by the kernel's directory notification, which fires once, as SIGIO, until it
// is armed again. inotify would tell the same, but its instances are counted against the user who
// has made the sandboxes, 128 by default, and every sandbox would take one. On a kernel without it
// the files are as old as the last command's start.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/exec_groups.h"
#include "agent/proc_text.h"
#include "agent/refresh_pace.h"
#include "base/fd.h"

namespace atl::agent {

class ProcFiles final {
 public:
  using Look = std::function<WorkUsage()>;

  // Without a directory there is nothing to write, and every call does nothing. No limit on memory
  // (zero) is all that the host has. `look` is asked on every writing.
  ProcFiles(Fd directory, uint64_t memory_bytes, uint32_t processors, Look look);

  // The signal that says that a file was read; to be blocked and passed on to was_read().
  static int read_signal();
  void was_read();
  void command_began(pid_t pid);
  void nothing_runs();
  // Writes if it is time to.
  void refresh();
  // When refresh() has something to do by itself; zero = not before one of the calls above.
  Micros next_deadline() const;

 private:
  void write();
  void arm();

  enum File : size_t { kMeminfo, kStat, kLoadavg, kFiles };
  void put(File file, const std::string& text);

  Fd directory_;
  Fd files_[kFiles];
  size_t sizes_[kFiles] = {};
  uint64_t memory_bytes_ = 0;
  uint64_t host_bytes_ = 0;
  Look look_;
  RefreshPace pace_;
  Micros last_look_;
  SplitTime used_;
  LoadAverage load_;
  ProcessorUse processors_;
};

}  // namespace atl::agent
