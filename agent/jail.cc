#include "agent/jail.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/chroot_tree.h"
#include "agent/homes.h"
#include "base/text.h"
#include "native/seccomp.h"
#include "os/file.h"

namespace atl::agent {
namespace {

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

Jail::Jail(native::AgentConfig config, native::BoxFacts facts, FileRoots roots,
           std::string workspace, std::string temporary)
    : config_(std::move(config)),
      facts_(std::move(facts)),
      roots_(std::move(roots)),
      workspace_(std::move(workspace)),
      home_(config_.workspace_writable ? workspace_ : temporary),
      temporary_(std::move(temporary)) {}

Result<Jail> Jail::create(native::AgentConfig config, native::BoxFacts facts) {
  if (facts.boxed != (config.confinement == native::Confinement::box)) {
    return Error(Code::invalid_argument, "launcher and driver do not mean the same sandbox");
  }
  if (facts.boxed) return create_box(std::move(config), std::move(facts));
  return config.confinement == native::Confinement::tree
             ? create_tree(std::move(config), std::move(facts))
             : create_plain(std::move(config), std::move(facts));
}

Result<Jail> Jail::create_plain(native::AgentConfig config, native::BoxFacts facts) {
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
  Jail jail(std::move(config), std::move(facts), FileRoots(std::move(roots)), std::move(workspace),
            std::move(temporary));
  jail.start_directory_ = native::kAgentWorkspace;

  if (jail.config_.confinement == native::Confinement::process) {
    TRY(jail.landlock_, make_landlock(jail.config_));
    jail.confine_processes();
  }
  jail.limit_memory();
  return jail;
}

void Jail::confine_processes() {
  filter_ = native::subprocess_filter();
  limits_.push_back({RLIMIT_CORE, {0, 0}});
  add_limit(RLIMIT_NOFILE, config_.open_files > 0 ? config_.open_files : kMostOpenFiles);
  drop_capabilities_ = has_capabilities();
}

void Jail::limit_memory() {
  const rlim_t memory = config_.memory_bytes;
  // RLIMIT_DATA counts what a process may write to; RLIMIT_AS would also count address space that
  // is only reserved, which some runtimes take by the gigabyte.
  if (memory > 0) limits_.push_back({RLIMIT_DATA, {memory, memory}});
}

// The file service looks at the tree from outside, where /proc and /dev are not mounted: what they
// show of the host is for commands, which are confined, and not for us, who are not.
Result<Jail> Jail::create_tree(native::AgentConfig config, native::BoxFacts facts) {
  TRY(auto tree, make_chroot_tree(native::kAgentFirstMount, native::kAgentWorkspace));
  TRY(auto start, os::open_at(tree.root.get(), "workspace", O_PATH | O_DIRECTORY));
  FileRoots roots({{"/", native::kAgentWorkspace, true, true}}, "workspace");
  Jail jail(std::move(config), std::move(facts), std::move(roots), native::kWorkspace, "/tmp");
  jail.root_ = std::move(tree.root);
  jail.terminals_ = std::move(tree.terminals);
  jail.start_ = std::move(start);
  jail.start_directory_ = jail.start_.get();
  TRY(jail.landlock_, native::LandlockRules::create());
  TRY_OK(jail.landlock_->allow(jail.root_.get(), native::FileAccess::read_write));
  for (const char* path : kDevices)
    TRY_OK(jail.landlock_->allow_if_present(path, native::FileAccess::device));
  jail.confine_processes();
  jail.limit_memory();
  return jail;
}

void Jail::add_limit(int resource, rlim_t value) {
  rlimit own{};
  if (getrlimit(resource, &own) == 0) value = std::min(value, own.rlim_max);
  limits_.push_back({resource, {value, value}});
}

Result<Jail> Jail::create_box(native::AgentConfig config, native::BoxFacts facts) {
  int next = native::kBoxFirstDescriptor;
  if (facts.has_id_lock) ++next;  // held, never used
  std::vector<ExecGroups::Work> work;
  work.reserve(facts.work_roles.size());
  for (const uint8_t roles : facts.work_roles) work.push_back({roles, Fd(next++)});
  const bool has_root = facts.outer_kernel.empty() && !facts.without.has(native::Layer::root) &&
                        !facts.without.has(native::Layer::mount_namespace);
  Fd proc_files;
  std::vector<CopiedDirectory> copies;
  if (has_root) {
    proc_files = Fd(next++);
    for (const auto& path : facts.copies) {
      const int upper = next++;
      copies.push_back({path, Fd(upper), Fd(next++)});
    }
  }

  TRY(auto root, os::open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
  auto start = os::open_at(AT_FDCWD, native::kWorkspace, O_PATH | O_DIRECTORY);
  const std::string workspace = start ? native::kWorkspace : "/tmp";
  if (!start) start = os::open_at(AT_FDCWD, workspace, O_PATH | O_DIRECTORY);
  if (!start) return std::move(start).error();
  if (facts.has_own_root && !facts.rootless) give_homes(root.get());
  const FileOwner owner{native::kUserId, native::kUserId, !facts.rootless,
                        !facts.outer_kernel.empty()};
  FileRoots roots({{"/", root.get(), true, true}}, workspace.substr(1), owner);
  Jail jail(std::move(config), std::move(facts), std::move(roots), workspace, "/tmp");
  jail.root_ = std::move(root);
  jail.start_ = std::move(*start);
  jail.start_directory_ = jail.start_.get();
  jail.work_ = std::move(work);
  jail.proc_files_ = std::move(proc_files);
  jail.copies_ = std::move(copies);
  // A container's agent has none to drop, nor the right to.
  jail.drop_capabilities_ =
      !jail.facts_.without.has(native::Layer::capabilities) && has_capabilities();
  if (jail.facts_.cgroup_version == native::CgroupVersion::v2 &&
      !jail.facts_.without.has(native::Layer::seccomp) &&
      !jail.facts_.without.has(native::Layer::no_new_privileges)) {
    jail.filter_ = native::no_clone3_filter();
  }
  if (!jail.facts_.without.has(native::Layer::rlimits)) {
    for (const auto& limit : jail.facts_.rlimits) jail.add_limit(limit.resource, limit.value);
  }
  return jail;
}

Result<> Jail::hand_over(guest::HandOver message) {
  if (!std::exchange(config_.parked, false))
    return Error(Code::conflict, "the sandbox is somebody's already");
  config_.env = std::move(message.env);
  config_.dies_with_connection |= message.dies_with_connection;
  return {};
}

void Jail::take_up(native::AgentConfig config, native::BoxFacts facts) {
  config_ = std::move(config);
  facts_ = std::move(facts);
  limits_.clear();
  for (const auto& limit : facts_.rlimits) add_limit(limit.resource, limit.value);
}

ExecGroups Jail::take_groups() { return ExecGroups(facts_.cgroup_version, std::move(work_)); }

Fd Jail::take_proc_files() { return std::move(proc_files_); }

Result<User> Jail::find_user(const std::string& asked) const {
  if (is_box()) {
    return facts_.rootless ? agent::find_only_user(root_.get(), asked)
                           : agent::find_user(root_.get(), asked);
  }
  const uint32_t self = geteuid();
  if (asked.empty() || asked == native::kUserName || asked == std::to_string(self)) {
    return User{self, getegid(), native::kUserName, home_};
  }
  if (config_.confinement == native::Confinement::tree) {
    // Whom the tree calls so.
    const auto named = agent::find_user(root_.get(), asked);
    if (named && named->uid == self) return User{self, getegid(), named->name, home_};
  }
  return no_other_user(asked, self);
}

std::map<std::string, std::string> Jail::environment(
    const User& user, const std::map<std::string, std::string>& request) const {
  std::map<std::string, std::string> environment{
      {"PATH", native::kSearchPath}, {"HOME", user.home},    {"PWD", workspace_},
      {"LANG", "C.UTF-8"},           {"TMPDIR", temporary_},
  };
  if (is_box()) environment.insert({{"USER", user.name}, {"LOGNAME", user.name}});
  for (const auto& [name, value] : config_.env) environment.insert_or_assign(name, value);
  if (!user.listed_home.empty())
    environment["PATH"] = with_moved_home(environment["PATH"], user.listed_home, user.home);
  for (const auto& [name, value] : request) environment.insert_or_assign(name, value);
  // Nobody's to choose: by it the launcher finds what a sandbox has left.
  environment.insert_or_assign("ATOLL_SANDBOX_ID", config_.sandbox_id);
  return environment;
}

Result<Fd> Jail::open_directory(const std::string& path) const {
  const bool is_anywhere = config_.confinement == native::Confinement::none ||
                           facts_.without.has(native::Layer::file_api);
  if (is_anywhere && path.starts_with('/') && !path.starts_with("/workspace")) {
    if (path.find('\0') != std::string::npos)
      return Error(Code::invalid_argument, "a path cannot hold a NUL byte");
    auto fd = os::open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (!fd) return std::move(fd).error().with("working directory");
    return fd;
  }
  TRY(auto located, roots_.locate(path));
  // As the command will see it, which has entered a root.
  auto fd = config_.confinement == native::Confinement::tree
                ? os::open_in_root(root_.get(), located.relative, O_PATH | O_DIRECTORY)
                : open_located(*located.root, located.relative, O_PATH | O_DIRECTORY);
  if (!fd && fd.error().os_errno() == EXDEV) {
    return Error(Code::permission_denied,
                 "working directory '" + to_printable(path) + "' leads out of the workspace");
  }
  if (!fd) return std::move(fd).error().with("working directory");
  return fd;
}

void Jail::confine(native::ChildPlan& plan, const User& user) const {
  plan.limits = limits_.data();
  plan.limit_count = limits_.size();
  if (config_.confinement == native::Confinement::none) return;
  plan.drop_capabilities = drop_capabilities_;
  if (!filter_.empty()) {
    // Pointed at here and not stored, because a Jail may be moved.
    static thread_local sock_fprog program;
    program.len = static_cast<unsigned short>(filter_.size());
    program.filter = const_cast<sock_filter*>(filter_.data());
    plan.seccomp = &program;
  }
  if (is_box()) {
    // The rest is around the agent already, and everybody inherits it.
    plan.change_identity = !facts_.rootless;
    plan.uid = user.uid;
    plan.gid = user.gid;
    if (user.uid == 0) plan.kept_capabilities = facts_.root_capabilities;
    // A container's agent has nothing to bound, nor the right to.
    plan.bound_capabilities = is_behind_gate() && !facts_.rootless;
    plan.inherit_descriptors = facts_.without.has(native::Layer::descriptors);
    return;
  }
  if (config_.confinement == native::Confinement::tree) plan.root = root_.get();
  plan.no_new_privileges = true;
  plan.landlock = landlock_->descriptor();
}

}  // namespace atl::agent
