#include "app/programs.h"

#include <stdlib.h>
#include <unistd.h>

namespace atl::app {
namespace {

Result<std::string> own_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length < 0) return os_error("finding this program");
  return std::string(path, static_cast<size_t>(length));
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

Result<std::string> find_libexec() {
  TRY(const std::string self, own_path());
  return find_libexec(self);
}

Result<std::string> find_libexec(const std::string& file) {
  const char* const named = getenv("ATOLL_LIBEXEC");
  if (named != nullptr && *named != '\0') return check_libexec(named);
  return check_libexec(parent_of(parent_of(file)) + "/libexec/atoll");
}

Result<std::string> check_libexec(std::string directory) {
  if (access((directory + "/atoll-launcher").c_str(), X_OK) == 0) return directory;
  return os_error("looking for atoll-launcher in", directory)
      .with_hint("install Atoll completely, or name its folder: ATOLL_LIBEXEC");
}

}  // namespace atl::app
