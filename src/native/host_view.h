// What the host looks like, as far as a plan depends on it. Read once per sandbox; plain values, so
// that a test can make one up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace atl::native {

enum class HostEntryKind : uint8_t { file, directory, link };

struct HostEntry {
  std::string name;
  HostEntryKind kind = HostEntryKind::file;
  std::string target;  // of a link
  uint64_t inode = 0;
};

struct HostView {
  std::vector<HostEntry> system;  // of /: usr, bin, sbin, lib*
  std::vector<HostEntry> etc;     // of /etc: what is shown of it, by path below /etc
  std::vector<HostEntry> proc;    // of /proc, without processes
  bool has_usr_local_etc = false;
  std::string sudo_program;  // ours, see agent/sudo/; "" = not installed
  std::string agent_program;
  std::string statx_library;    // for programs in a second kernel, see oci/preload/
  std::string runtime_program;  // runsc; "" = not installed
  std::string warm_directory;   // what interpreters are started ahead with, see agent/warm/
  uint32_t processors = 1;
  std::string processor;  // an entry of /proc/cpuinfo
  uint64_t memory_bytes = 0;
};

HostView view_host();
// That part alone which is HostView::runtime_program.
std::string find_runtime();

}  // namespace atl::native
