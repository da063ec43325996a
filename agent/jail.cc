#include "agent/jail.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "native/seccomp.h"
#include "os/file.h"

namespace atl::agent {
namespace {

// The same wherever the agent runs; nothing of the host's own environment reaches a command.
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

constexpr const char* kSystemDirectories[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                              "/lib32", "/lib64", "/libx32"};

// What programs read of /etc, file by file: the directory as a whole holds secrets.
constexpr const char* kSystemFiles[] = {
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/services",
    "/etc/protocols",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/locale.alias",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/terminfo",
    "/etc/inputrc",
    "/etc/bash.bashrc",
    "/etc/profile",
    "/etc/gitconfig",
    "/etc/java-17-openjdk",
    "/proc",
};

constexpr const char* kDevices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};

constexpr rlim_t kMostOpenFiles = 1024;

bool has_capabilities() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct held[2]{};
  if (syscall(SYS_capget, &header, held) != 0) return true;
  return (held[0].permitted | held[1].permitted) != 0;
}

Result<native::LandlockRules> make_landlock(const native::AgentConfig& config) {
  using native::FileAccess;
  TRY(auto rules, native::LandlockRules::create());
  for (const char* path : kSystemDirectories)
    TRY_OK(rules.allow_if_present(path, FileAccess::read_execute));
  for (const char* path : kSystemFiles) TRY_OK(rules.allow_if_present(path, FileAccess::read_only));
  for (const char* path : kDevices) TRY_OK(rules.allow_if_present(path, FileAccess::device));
  TRY_OK(rules.allow(native::kAgentWorkspace, config.workspace_writable
                                                  ? FileAccess::read_write
                                                  : FileAccess::read_execute));
  TRY_OK(rules.allow(native::kAgentTemporary, FileAccess::read_write));
  for (size_t i = 0; i < config.mounts.size(); ++i) {
    TRY_OK(
        rules.allow(native::kAgentFirstMount + static_cast<int>(i),
                    config.mounts[i].writable ? FileAccess::read_write : FileAccess::read_execute));
  }
  return rules;
}

}  // namespace

Jail::Jail(native::AgentConfig config, std::vector<FileRoot> roots, std::string workspace,
           std::string temporary)
    : config_(std::move(config)),
      roots_(std::move(roots)),
      workspace_(std::move(workspace)),
      home_(config_.workspace_writable ? workspace_ : temporary),
      temporary_(std::move(temporary)) {}

Result<Jail> Jail::create(native::AgentConfig config) {
  TRY(auto workspace, os::path_of(native::kAgentWorkspace));
  TRY(auto temporary, os::path_of(native::kAgentTemporary));
  // Without a root of its own the workspace has two names: the one that is the same on every
  // driver, and the real one.
  std::vector<FileRoot> roots{{"/workspace", native::kAgentWorkspace, config.workspace_writable},
                              {workspace, native::kAgentWorkspace, config.workspace_writable},
                              {temporary, native::kAgentTemporary, true}};
  for (size_t i = 0; i < config.mounts.size(); ++i) {
    roots.push_back({config.mounts[i].guest_path, native::kAgentFirstMount + static_cast<int>(i),
                     config.mounts[i].writable});
  }
  Jail jail(std::move(config), std::move(roots), std::move(workspace), std::move(temporary));

  if (jail.config_.confinement == native::Confinement::process) {
    TRY(jail.landlock_, make_landlock(jail.config_));
    jail.filter_ = native::subprocess_filter();
    jail.limits_.push_back({RLIMIT_CORE, {0, 0}});
    const rlim_t files = jail.config_.open_files > 0 ? jail.config_.open_files : kMostOpenFiles;
    jail.limits_.push_back({RLIMIT_NOFILE, {files, files}});
    jail.drop_capabilities_ = has_capabilities();
  }
  if (const rlim_t memory = jail.config_.memory_bytes; memory > 0) {
    // RLIMIT_DATA counts what a process may write to; RLIMIT_AS would also count address space that
    // is only reserved, which some runtimes take by the gigabyte.
    jail.limits_.push_back({RLIMIT_DATA, {memory, memory}});
  }
  return jail;
}

std::map<std::string, std::string> Jail::environment(
    const std::map<std::string, std::string>& request) const {
  std::map<std::string, std::string> environment{
      {"PATH", kPath},     {"HOME", home_},        {"PWD", workspace_},
      {"LANG", "C.UTF-8"}, {"TMPDIR", temporary_}, {"ATOLL_SANDBOX_ID", config_.sandbox_id},
  };
  for (const auto& [name, value] : config_.env) environment.insert_or_assign(name, value);
  for (const auto& [name, value] : request) environment.insert_or_assign(name, value);
  return environment;
}

Result<Fd> Jail::open_directory(const std::string& path) const {
  if (config_.confinement == native::Confinement::none && path.starts_with('/') &&
      !path.starts_with("/workspace")) {
    if (path.find('\0') != std::string::npos)
      return Error(Code::invalid_argument, "a path cannot hold a NUL byte");
    auto fd = os::open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (!fd) return std::move(fd).error().with("working directory");
    return fd;
  }
  TRY(auto located, roots_.locate(path));
  auto fd = os::open_beneath(located.root->directory, located.relative, O_PATH | O_DIRECTORY);
  if (!fd && fd.error().os_errno() == EXDEV) {
    return Error(Code::permission_denied,
                 "working directory '" + to_printable(path) + "' leads out of the workspace");
  }
  if (!fd) return std::move(fd).error().with("working directory");
  return fd;
}

void Jail::confine(native::ChildPlan& plan) const {
  plan.limits = limits_.data();
  plan.limit_count = limits_.size();
  if (config_.confinement == native::Confinement::none) return;
  plan.no_new_privileges = true;
  plan.drop_capabilities = drop_capabilities_;
  plan.landlock = landlock_->descriptor();
  // Pointed at here and not stored, because a Jail may be moved.
  static thread_local sock_fprog program;
  program.len = static_cast<unsigned short>(filter_.size());
  program.filter = const_cast<sock_filter*>(filter_.data());
  plan.seccomp = &program;
}

}  // namespace atl::agent
