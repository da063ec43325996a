#include "cli/attack_canaries.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/text.h"
#include "cli/json_view.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr uid_t kVictimId = 1'000;  // the same number as the user's in a sandbox
constexpr std::chrono::seconds kPatience{10};
constexpr size_t kMostOutput = size_t{1} << 20;

Result<> write_new(const std::string& path, std::string_view bytes, mode_t mode) {
  TRY(const auto file, os::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, mode));
  TRY_OK(os::write_all(file.get(), bytes));
  // Whatever the umask is.
  if (fchmod(file.get(), mode) != 0) return os_error("setting the mode of", path);
  return {};
}

Result<> make_directory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0) {
    return os_error("making directory", path);
  }
  return {};
}

// Where setuid files work for root. Not /tmp: a sandbox without a root of its own may write there.
constexpr const char* kPlaces[] = {"/var/lib", "/srv", "/var/tmp"};

Result<std::string> make_own_directory() {
  for (const char* place : kPlaces) {
    std::string path = std::string(place) + "/atoll-doctor-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) continue;
    if (chmod(path.c_str(), 0755) != 0) return os_error("opening", path);
    return path;
  }
  return os_error("making a directory for the canaries");
}

std::string handle_of(const std::string& path) {
  alignas(file_handle) char buffer[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* handle = reinterpret_cast<file_handle*>(buffer);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(AT_FDCWD, path.c_str(), handle, &mount, 0) != 0) return "";
  std::string text = fmt::format("{}:", handle->handle_type);
  for (unsigned i = 0; i < handle->handle_bytes; ++i)
    text += fmt::format("{:02x}", handle->f_handle[i]);
  return text;
}

std::string link_target(const char* path) {
  char target[256] = {};
  return readlink(path, target, sizeof target - 1) > 0 ? target : "";
}

// Reads until `end` is seen or the other side closes.
Result<std::string> read_until(int fd, char end) {
  std::string text;
  const Micros give_up = system_clock().boot() + kPatience;
  for (;;) {
    const auto left = std::chrono::duration_cast<Millis>(give_up - system_clock().boot());
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error(Code::deadline_exceeded, "it does not answer");
    char buffer[16 * 1024];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading");
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (end != '\0' && text.find(end) != std::string::npos) return text;
    if (text.size() > kMostOutput) return Error(Code::too_large, "it says too much");
  }
}

struct Started {
  pid_t pid = -1;
  Fd input, output;
};

// As `user`, if that is not who we are; with nothing of our environment.
Result<Started> start(const std::string& program, const char* argument, uid_t user,
                      const std::vector<std::string>& environment) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd in_read(in[0]), in_write(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd out_read(out[0]), out_write(out[1]);
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (const auto& entry : environment) variables.push_back(const_cast<char*>(entry.c_str()));
  variables.push_back(nullptr);
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(argument),
                             nullptr};
  const pid_t child = fork();
  if (child < 0) return os_error("starting", program);
  if (child == 0) {
    bool fine = dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1 && chdir("/") == 0;
    if (user != geteuid()) {
      fine = fine && setgroups(0, nullptr) == 0 && setgid(user) == 0 && setuid(user) == 0;
    }
    // Of its own session: a Ctrl-C that is meant for us must not look like an attack on it.
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    if (fine) execve(arguments[0], arguments, variables.data());
    _exit(126);
  }
  return Started{child, std::move(in_write), std::move(out_read)};
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<std::string> read_output(const std::string& program, const char* argument) {
  TRY(auto started, start(program, argument, geteuid(), {}));
  started.input.close();
  auto text = read_until(started.output.get(), '\0');
  if (!text) kill(started.pid, SIGKILL);
  reap(started.pid);
  if (!text) return std::move(text).error().with(program);
  return text;
}

bool AttackCanaries::has_canary(const std::string& attack) {
  if (geteuid() == 0) return true;
  return attack != "setuid_file" && attack != "file_capability" && attack != "device_in_volume";
}

void AttackCanaries::let_engines_show() {
  constexpr const char* kRoots = "ATOLL_ENGINE_MOUNT_ROOTS";
  const char* named = getenv(kRoots);
  std::string roots = named != nullptr ? named : "";
  for (const char* place : kPlaces) {
    if (access(place, F_OK) == 0) roots += (roots.empty() ? "" : ":") + std::string(place);
  }
  setenv(kRoots, roots.c_str(), 1);
}

Result<std::unique_ptr<AttackCanaries>> AttackCanaries::create(const std::string& program) {
  std::unique_ptr<AttackCanaries> canaries(new AttackCanaries);
  canaries->token_ = random_name(16);
  uint8_t bytes[3];
  fill_random(bytes);
  canaries->left_key_ = 0x43000000 | bytes[0] << 16 | bytes[1] << 8 | bytes[2];
  TRY(canaries->directory_, make_own_directory());
  TRY_OK(canaries->make_files(program));
  TRY_OK(canaries->open_terminal());
  TRY_OK(canaries->start_victim());
  return canaries;
}

AttackCanaries::~AttackCanaries() {
  end_victim();
  remove_leftovers();
  const size_t slash = directory_.rfind('/');
  if (slash == std::string::npos) return;
  if (const auto parent =
          os::open_at(AT_FDCWD, directory_.substr(0, slash), O_PATH | O_DIRECTORY)) {
    static_cast<void>(os::remove_tree(parent->get(), directory_.substr(slash + 1)));
  }
}

Result<> AttackCanaries::make_files(const std::string& program) {
  const std::string secret = "canary:" + token_;
  TRY_OK(write_new(directory_ + "/secret", secret, 0644));
  TRY_OK(make_directory(directory_ + "/root", 0700));
  TRY_OK(write_new(directory_ + "/root/secret", secret, 0600));
  TRY_OK(make_directory(directory_ + "/outside", 0777));
  TRY_OK(make_directory(shared(), 0755));
  TRY(const auto bytes, os::read_file(AT_FDCWD, program, size_t{64} << 20));
  TRY_OK(write_new(this->program(), bytes, 0755));
  TRY_OK(write_new(directory_ + "/helper", "#!/bin/sh\necho ran > " + directory_ + "/helper-ran\n",
                   0755));
  if (geteuid() != 0) return {};
  TRY_OK(write_new(shared() + "/setuid", bytes, 04755));
  TRY_OK(write_new(shared() + "/setcap", bytes, 0755));
  // CAP_NET_BIND_SERVICE, permitted and effective, in the kernel's second format.
  const uint32_t capability[5] = {0x02000001, 1U << 10, 0, 0, 0};
  if (setxattr((shared() + "/setcap").c_str(), "security.capability", capability, sizeof capability,
               0) != 0) {
    return os_error("giving a capability to a file in", shared());
  }
  const std::string device = shared() + "/device";  // /dev/zero
  if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0 ||
      chmod(device.c_str(), 0666) != 0) {
    return os_error("making", device);
  }
  return {};
}

Result<> AttackCanaries::open_terminal() {
  int leader = -1, follower = -1;
  char name[256] = {};
  if (openpty(&leader, &follower, name, nullptr, nullptr) != 0)
    return os_error("opening a terminal");
  terminal_ = Fd(leader);
  terminal_end_ = Fd(follower);
  for (const int fd : {leader, follower}) fcntl(fd, F_SETFD, FD_CLOEXEC);
  terminal_name_ = name;
  if (chmod(name, 0666) != 0) return os_error("opening", name);
  return {};
}

Result<> AttackCanaries::start_victim() {
  const uid_t user = geteuid() == 0 ? kVictimId : geteuid();
  TRY(auto started,
      start(program(), "--victim", user,
            {"ATOLL_ATTACK_TOKEN=" + token_, "ATOLL_ATTACK_OUTSIDE=" + directory_ + "/outside"}));
  victim_ = started.pid;
  victim_stdin_ = std::move(started.input);
  const auto first_line = read_until(started.output.get(), '\n');
  if (!first_line) return Error(first_line.error()).with("starting the victim");
  auto told = json::parse(first_line->substr(0, first_line->find('\n')));
  if (!told || !told->is_object()) return Error(Code::internal, "the victim did not start");
  victim_facts_.clear();
  for (const auto& member : told->get_object()) {
    std::string value;
    if (const auto* text = member.value().if_string()) {
      value.assign(text->data(), text->size());
    } else {
      json::write_value(value, member.value());
    }
    victim_facts_["ATOLL_ATTACK_VICTIM_" + std::string(member.key())] = std::move(value);
  }
  return {};
}

void AttackCanaries::end_victim() {
  if (victim_ < 0) return;
  victim_stdin_.close();
  // It takes its things with it; who does not leave is made to.
  const Micros give_up = system_clock().boot() + kPatience;
  pid_t gone = 0;
  while ((gone = waitpid(victim_, nullptr, WNOHANG)) == 0 && system_clock().boot() < give_up) {
    poll(nullptr, 0, 5);
  }
  if (gone == 0) {
    kill(victim_, SIGKILL);
    reap(victim_);
  }
  victim_ = -1;
}

bool AttackCanaries::is_victim_alive() {
  if (victim_ < 0) return false;
  if (waitpid(victim_, nullptr, WNOHANG) == 0) return true;
  victim_ = -1;
  return false;
}

std::map<std::string, std::string> AttackCanaries::environment() const {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::map<std::string, std::string> told = victim_facts_;
  const auto tell = [&](const char* name, std::string value) {
    told[std::string("ATOLL_ATTACK_") + name] = std::move(value);
  };
  tell("TOKEN", token_);
  tell("IN_BOX", "1");
  tell("SECRET", directory_ + "/secret");
  tell("SECRET_ROOT", directory_ + "/root/secret");
  tell("SECRET_HANDLE", handle_of(directory_ + "/root/secret"));
  tell("SHARED", shared());
  tell("OUTSIDE", directory_ + "/outside");
  tell("PTY", terminal_name_);
  tell("MOUNTS", link_target("/proc/self/ns/mnt"));
  tell("HOSTNAME", host);
  tell("RELEASE_HELPER", directory_ + "/helper");
  tell("LEFT_KEY", std::to_string(left_key_));
  return told;
}

Result<std::string> AttackCanaries::take_evidence() {
  std::string seen;
  if (!is_victim_alive()) {
    seen = "the process outside is dead";
    for (const char* name : {"SHM_FILE", "SOCKET"}) {
      const auto path = victim_facts_.find(std::string("ATOLL_ATTACK_VICTIM_") + name);
      if (path != victim_facts_.end()) unlink(path->second.c_str());
    }
    TRY_OK(start_victim());
  }
  if (unlink((directory_ + "/helper-ran").c_str()) == 0) seen = "the kernel ran a program outside";
  if (unlink((directory_ + "/outside/written").c_str()) == 0) seen = "a file was written outside";
  pollfd waiting{terminal_.get(), POLLIN, 0};
  if (poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN) != 0) {
    char buffer[4096];
    if (read(terminal_.get(), buffer, sizeof buffer) > 0)
      seen = "a terminal outside was written to";
  }
  return seen;
}

// What a sandbox without a root of its own may have left on the host.
void AttackCanaries::remove_leftovers() const {
  if (token_.empty()) return;
  if (const int segment = shmget(left_key_, 0, 0); segment >= 0) shmctl(segment, IPC_RMID, nullptr);
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/usr/share",
                            "/etc", "/opt", "/srv", "/home", "/workspace"}) {
    unlink((std::string(place) + "/atoll-left-" + token_).c_str());
  }
}

}  // namespace atl::cli
