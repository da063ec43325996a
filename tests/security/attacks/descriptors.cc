// Descriptors that somebody forgot to close, and a working directory that lies outside
// (CVE-2024-21626): with either, `..` leads to the host's files whatever the root is.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

constexpr int kMostDescriptors = 65'536;

// The secret by its absolute path, but from wherever `directory` is: up to the top, and down again.
bool reads_secret_from(int directory) {
  std::string path;
  for (int step = 0; step < 64; ++step) path += "../";
  const int file = openat(directory, (path + told("SECRET")).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto secret = read_all(file);
  close(file);
  return secret == canary();
}

}  // namespace

ATTACK(leaked_descriptors, .title = "find descriptors left open", .dossier = 25,
       .stopped_by = Layer::descriptors) {
  std::string found;
  for (int number = 3; number < kMostDescriptors; ++number) {
    if (fcntl(number, F_GETFD) < 0) continue;
    char target[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    (void)!readlink(link.c_str(), target, sizeof target - 1);
    found += " " + std::to_string(number) + "=" + target;
  }
  if (found.empty()) return denied(EBADF, "only 0, 1 and 2 are open");
  return reached("open:" + found);
}

ATTACK(leaked_directory, .title = "walk out through a directory left open", .dossier = 25,
       .cve = "CVE-2024-21626", .stopped_by = Layer::descriptors | Layer::landlock) {
  for (int number = 3; number < kMostDescriptors; ++number) {
    struct stat entry{};
    if (fstat(number, &entry) != 0 || !S_ISDIR(entry.st_mode)) continue;
    if (reads_secret_from(number)) return reached("the host through " + std::to_string(number));
  }
  return denied(EBADF, "no directory left open leads out");
}

ATTACK(working_directory, .title = "start outside the root", .dossier = 26, .cve = "CVE-2024-21626",
       .stopped_by = Layer::root) {
  if (!reads_secret_from(AT_FDCWD)) return denied(ENOENT, "the working directory is inside");
  return reached("the host through the working directory");
}

// The host asks for the working directory /proc/self/fd/N, for every N; being refused is a denial,
// too.
ATTACK(working_directory_descriptor, .title = "start in a descriptor of the agent", .dossier = 26,
       .cve = "CVE-2024-21626", .setting = Setting::workdir,
       .stopped_by = Layer::file_api | Layer::descriptors | Layer::landlock) {
  if (!reads_secret_from(AT_FDCWD)) return denied(ENOENT, "the working directory is inside");
  return reached("the host through a descriptor of the agent");
}
