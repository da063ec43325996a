#include "agent/kernel_view.h"

#include <fcntl.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/fd.h"

namespace atl::agent {
namespace {

constexpr int kReadAll = 3;  // SYSLOG_ACTION_READ_ALL

std::string boot_id() {
  const Fd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text;
  const ssize_t got = file ? read(file.get(), text.data(), text.size()) : 0;
  const std::string_view said(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(said.substr(0, said.find('\n')));
}

// Its log says so to everybody. Linux tells a process without rights nothing.
bool is_gvisor() {
  std::array<char, 16 * 1024> log;
  const int got = klogctl(kReadAll, log.data(), log.size());
  return got > 0 &&
         std::string_view(log.data(), static_cast<size_t>(got)).find("Starting gVisor") !=
             std::string_view::npos;
}

}  // namespace

std::string kernel_view() {
  utsname name{};
  uname(&name);
  return std::string(name.release) + " " + name.version + "\n" + boot_id() + "\n" +
         (is_gvisor() ? "gvisor" : "linux") + "\n";
}

}  // namespace atl::agent
