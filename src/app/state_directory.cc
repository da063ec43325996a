#include "app/state_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "base/text.h"
#include "cli/target.h"
#include "crypto/api_key.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::app {
namespace {

constexpr auto kDyingPatience = std::chrono::seconds(2);
constexpr const char* kLock = "lock";
constexpr const char* kDatabase = "atoll.db";
constexpr size_t kLargestKey = 4'096;

Result<> make_parents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) return os_error("making", parent);
  }
  return {};
}

Result<Fd> open_directory(const std::string& path, const DaemonUser& user,
                          StateDirectory::Others others) {
  const bool may_pass = others == StateDirectory::Others::may_pass;
  const mode_t mode = geteuid() == 0 || may_pass ? 0711 : 0700;
  TRY_OK(make_parents(path));
  const bool made = mkdir(path.c_str(), mode) == 0;
  if (!made && errno != EEXIST) return os_error("making", path);
  TRY(auto directory, os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY));

  struct stat info{};
  if (fstat(directory.get(), &info) != 0) return os_error("looking at", path);
  const bool is_ours = info.st_uid == geteuid() || info.st_uid == user.uid;
  if (!is_ours || (info.st_mode & 022) != 0) {
    return Error(Code::permission_denied,
                 path + (is_ours ? " may be written by others" : " belongs to somebody else"))
        .with_hint(is_ours ? "chmod go-w " + path : "name another: --state DIR");
  }
  if ((made || geteuid() == 0 || may_pass) && fchmod(directory.get(), mode) != 0) {
    return os_error("setting the mode of", path);
  }
  if (info.st_uid != user.uid && fchown(directory.get(), user.uid, user.gid) != 0) {
    return os_error("giving away", path);
  }
  return directory;
}

// What the lock holds, "PID START", is still a process, and the same one.
bool is_alive(const std::string& holder) {
  char* rest = nullptr;
  const auto found = os::find_process(static_cast<pid_t>(std::strtol(holder.c_str(), &rest, 10)));
  if (!found || found->state == 'Z') return false;
  const uint64_t start_ticks = std::strtoull(rest, nullptr, 10);
  return start_ticks == 0 || start_ticks == found->start_ticks;  // an earlier release wrote none
}

Error in_use(const std::string& path, const std::string& holder) {
  const std::string pid = holder.substr(0, holder.find(' '));
  return Error(Code::conflict, "another daemon uses " + path +
                                   (pid.empty() ? "" : " (pid " + to_printable(pid) + ")"))
      .with_hint("talk to it with: atoll ps --state " + path +
                 "   stop it with: atoll down --state " + path);
}

Result<Fd> take_lock(int directory, const std::string& path) {
  TRY(auto lock, os::open_at(directory, kLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  const auto give_up = std::chrono::steady_clock::now() + kDyingPatience;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return os_error("locking", path);
    char holder[64] = {};
    static_cast<void>(pread(lock.get(), holder, sizeof holder - 1, 0));
    // A daemon that was killed while it started a program holds its lock until that program runs.
    if (is_alive(holder) || std::chrono::steady_clock::now() > give_up) return in_use(path, holder);
    poll(nullptr, 0, 10);
  }
  const auto self = os::find_process(getpid());
  const std::string holder =
      std::to_string(getpid()) + " " + std::to_string(self ? self->start_ticks : 0);
  if (ftruncate(lock.get(), 0) != 0) return os_error("writing the lock of", path);
  TRY_OK(os::write_all(lock.get(), holder));
  return lock;
}

// A daemon that ran as root before leaves files that the daemon's own user could not open.
Result<> hand_over(int directory, const DaemonUser& user) {
  for (const char* name : {kLock, kDatabase, "atoll.db-wal", "atoll.db-shm", "admin.key"}) {
    if (fchownat(directory, name, user.uid, user.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT) {
      return os_error("giving away", name);
    }
  }
  return {};
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const std::string& path, const DaemonUser& user,
                                            Others others) {
  TRY(auto directory, open_directory(path, user, others));
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  if (real == nullptr) return os_error("finding", path);
  TRY(auto lock, take_lock(directory.get(), path));
  // SQLite makes its files like the database, so its mode is settled before.
  TRY_OK(os::open_at(directory.get(), kDatabase, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (user.drops) TRY_OK(hand_over(directory.get(), user));
  return StateDirectory(real.get(), std::move(directory), std::move(lock));
}

Result<AdminKey> StateDirectory::admin_key() const {
  const std::string name(cli::kKeyFileName);
  auto text = os::read_file(directory_.get(), name, kLargestKey);
  if (text) {
    while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    if (!text->empty()) return AdminKey{*std::move(text)};
  } else if (text.error().code() != Code::not_found) {
    return std::move(text).error().with("the admin key");
  }
  std::string key = crypto::make_api_key();
  TRY_OK(os::replace_file(directory_.get(), name, key + "\n", 0600));
  return AdminKey{std::move(key), true};
}

Result<> StateDirectory::forget_admin_key() const {
  return os::remove_tree(directory_.get(), std::string(cli::kKeyFileName));
}

}  // namespace atl::app
