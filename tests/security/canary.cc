#include "tests/security/canary.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace atl::attack {

std::string told(const char* name) {
  const char* value = getenv((std::string("ATOLL_ATTACK_") + name).c_str());
  return value == nullptr ? "" : value;
}

long told_number(const char* name, long otherwise) {
  const std::string text = told(name);
  return text.empty() ? otherwise : strtol(text.c_str(), nullptr, 10);
}

bool in_box() { return told("IN_BOX") == "1"; }

bool has_own_kernel() {
  const auto here = read_all("/proc/version");
  return in_box() && here && !told("KERNEL").empty() && !here->starts_with(told("KERNEL"));
}

bool has_own_mounts() {
  if (has_own_kernel()) return true;
  char here[64] = {};
  return readlink("/proc/self/ns/mnt", here, sizeof here - 1) > 0 && in_box() &&
         !told("MOUNTS").empty() && told("MOUNTS") != here;
}

std::string canary() { return "canary:" + told("TOKEN"); }

std::optional<std::string> read_all(int descriptor) {
  std::string text(64 << 10, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(descriptor, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

std::optional<std::string> read_all(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  auto text = read_all(descriptor);
  const int error = errno;
  close(descriptor);
  errno = error;
  return text;
}

bool write_all(const std::string& path, const std::string& text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  const bool whole =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(descriptor);
  errno = error;
  return whole;
}

bool can_open(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return false;
  close(descriptor);
  return true;
}

std::string scratch() {
  static const std::string made = [] {
    for (const char* parent : {".", "/tmp", "/workspace", "/dev/shm"}) {
      std::string path = std::string(parent) + "/atoll-scratch-" + told("TOKEN") + "-XXXXXX";
      if (mkdtemp(path.data()) != nullptr) return path;
    }
    return std::string();
  }();
  return made;
}

uint64_t effective_capabilities() {
  const auto status = read_all("/proc/self/status");
  if (!status) return 0;
  const size_t at = status->find("CapEff:");
  return at == std::string::npos ? 0 : strtoull(status->c_str() + at + 7, nullptr, 16);
}

int in_child(const std::function<int()>& attempt) {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(attempt());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ENOSYS + 1000 + WTERMSIG(status);
}

std::string describe_child(int answer) {
  if (answer > ENOSYS + 1000) return std::string("killed: ") + strsignal(answer - ENOSYS - 1000);
  return strerror(answer);
}

void hold(const std::string& what, const std::function<void()>& more) {
  std::printf("{\"holding\":\"%s\"}\n", what.c_str());
  std::fflush(stdout);
  for (;;) {
    pollfd input{0, POLLIN, 0};
    char byte = 0;
    if (poll(&input, 1, 10) > 0 && read(0, &byte, 1) <= 0) return;
    if (more) more();
  }
}

std::string missing_file(const char* path) {
  return access(path, F_OK) == 0 ? "" : std::string("the host has no ") + path;
}

std::string missing_socket(int family, int type, int protocol, const char* name) {
  const int made = socket(family, type | SOCK_CLOEXEC, protocol);
  if (made >= 0) {
    close(made);
    return "";
  }
  return std::string("the kernel has no ") + name;
}

}  // namespace atl::attack
