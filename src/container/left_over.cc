#include "container/left_over.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/ids.h"
#include "os/file.h"

namespace atl::container {
namespace {

std::string base_of(const std::string& directory) {
  return std::filesystem::path(directory).parent_path().parent_path().parent_path();
}

// "@2049:131"; "" = it is not there.
std::string mark_of(const std::string& base) {
  struct stat facts{};
  if (stat(base.c_str(), &facts) != 0) return "";
  return "@" + std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
}

}  // namespace

std::string instance_of_run(const std::string& directory) {
  return directory + mark_of(base_of(directory));
}

std::vector<std::string> kept_in(const std::string& directory) {
  std::vector<std::string> ids;
  std::error_code trouble;
  for (const auto& entry : std::filesystem::directory_iterator(directory, trouble)) {
    std::string name = entry.path().filename();
    if (is_sandbox_id(name)) ids.push_back(std::move(name));
  }
  return ids;
}

bool is_left_over(std::string_view instance, const std::string& directory) {
  const std::string base = base_of(directory);
  const std::string mark = mark_of(base);
  const std::string begin = base + "/run-";
  if (mark.empty() || !instance.starts_with(begin) || !instance.ends_with(mark)) return false;
  const std::string run(instance.substr(0, instance.find('/', begin.size())));
  const auto opened = os::open_at(AT_FDCWD, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened) return opened.error().os_errno() == ENOENT;
  return flock(opened->get(), LOCK_SH | LOCK_NB) == 0;
}

}  // namespace atl::container
