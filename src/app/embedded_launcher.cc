#include "app/embedded_launcher.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native/launcher_client.h"

namespace atl::app {
namespace {

// $XDG_RUNTIME_DIR/atoll, or /tmp/atoll-UID. Whether it is really ours the launcher's client
// checks.
std::string run_base() {
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  struct stat info{};
  if (runtime != nullptr && *runtime == '/' && stat(runtime, &info) == 0 &&
      info.st_uid == geteuid()) {
    return std::string(runtime) + "/atoll";
  }
  return "/tmp/atoll-" + std::to_string(geteuid());
}

}  // namespace

Result<std::unique_ptr<native::LauncherClient>> open_embedded_launcher(
    const asio::any_io_executor& executor, std::string libexec, bool is_silent) {
  const std::string base = run_base();
  if (mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", base);
  return native::LauncherClient::embedded(
      executor, {.base_directory = base, .libexec = std::move(libexec), .is_silent = is_silent});
}

}  // namespace atl::app
