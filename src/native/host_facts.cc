#include "native/host_facts.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "native/landlock.h"
#include "native/user_namespace.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr std::chrono::seconds kCompanionPatience{2};

std::string read_text(const std::string& path) {
  auto text = os::read_file(AT_FDCWD, path, 4 << 20);
  if (!text) return "";
  while (!text->empty() && (text->back() == '\n' || text->back() == '\0')) text->pop_back();
  return *text;
}

std::optional<int64_t> read_number(const std::string& path) {
  const std::string text = read_text(path);
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

struct Mounted {
  std::string path;
  std::string kind;
  std::string options;  // of the file system
};

std::vector<Mounted> read_mounts() {
  std::vector<Mounted> mounts;
  for (const auto& line : split(read_text("/proc/self/mountinfo"), '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() > 4 && right.size() > 2) mounts.push_back({left[4], right[0], right[2]});
  }
  return mounts;
}

// The mount that holds an absolute path: the last of the longest.
const Mounted* find_mount(const std::vector<Mounted>& mounts, const std::string& path) {
  const Mounted* best = nullptr;
  for (const auto& mount : mounts) {
    const std::string prefix = mount.path == "/" ? "/" : mount.path + "/";
    const bool holds = mount.path == path || path.starts_with(prefix);
    if (holds && (best == nullptr || mount.path.size() >= best->path.size())) best = &mount;
  }
  return best;
}

bool kernel_knows(const std::string& file_system) {
  for (const auto& line : split(read_text("/proc/filesystems"), '\n')) {
    if (line.substr(line.find('\t') + 1) == file_system) return true;
  }
  return false;
}

bool is_module(const std::string& kernel, const std::string& path) {
  const std::string module = "/lib/modules/" + kernel + "/kernel/" + path;
  for (const char* ending : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
    if (exists(module + ending)) return true;
  }
  return false;
}

// Only where systems install programs: what lies elsewhere on somebody's PATH is not ours to judge.
std::string find_program(const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/",
                                "/bin/", "/sbin/", "/opt/kata/bin/"}) {
    if (access((directory + name).c_str(), X_OK) == 0) return directory + name;
  }
  return "";
}

std::string find_container() {
  if (exists("/.dockerenv")) return "docker";
  if (exists("/run/.containerenv")) return "podman";
  if (const std::string told = read_text("/run/systemd/container"); !told.empty()) return told;
  for (const auto& entry : split(read_text("/proc/1/environ"), '\0')) {
    if (entry.starts_with("container=") && entry.size() > 10) return entry.substr(10);
  }
  const std::string groups = read_text("/proc/1/cgroup");
  for (const char* sign : {"docker", "kubepods", "lxc", "containerd"}) {
    if (groups.find(sign) != std::string::npos) return sign;
  }
  return "";
}

// Since which kernel a file system takes idmapped mounts: major * 100 + minor.
bool is_mapping_likely(const std::string& kind, const std::string& kernel) {
  static const std::map<std::string, int> kSince{{"ext4", 512},    {"xfs", 512},     {"vfat", 512},
                                                 {"btrfs", 515},   {"ext2", 512},    {"ext3", 512},
                                                 {"overlay", 519}, {"erofs", 519},   {"f2fs", 518},
                                                 {"tmpfs", 603},   {"squashfs", 602}};
  const auto since = kSince.find(kind);
  int major = 0, minor = 0;
  if (std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return since != kSince.end() && major * 100 + minor >= since->second;
}

// On a copy of the mount that hangs nowhere.
bool can_map_owners(const std::string& path, const Fd& name_space) {
  const Fd tree(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return false;
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_IDMAP;
  wanted.userns_fd = static_cast<uint64_t>(name_space.get());
  return mount_setattr(tree.get(), "", AT_EMPTY_PATH, &wanted, sizeof wanted) == 0;
}

std::vector<PlaceFacts> look_at_places(const std::vector<Mounted>& mounts,
                                       const std::string& kernel) {
  std::vector<std::string> paths{"/", "/tmp"};
  char here[PATH_MAX];
  if (getcwd(here, sizeof here) != nullptr && here[0] == '/' &&
      std::ranges::find(paths, here) == paths.end()) {
    paths.emplace_back(here);
  }
  Fd name_space;
  if (geteuid() == 0) {
    if (auto made = make_user_namespace({0, 1'000, 1}, {0, 1'000, 1}, geteuid()))
      name_space = std::move(*made);
  }
  std::vector<PlaceFacts> places;
  for (const auto& path : paths) {
    const Mounted* mount = find_mount(mounts, path);
    PlaceFacts place{path, mount != nullptr ? mount->kind : "unknown", OwnerMapping::unlikely};
    if (name_space) {
      place.owner_mapping =
          can_map_owners(path, name_space) ? OwnerMapping::works : OwnerMapping::refused;
    } else if (is_mapping_likely(place.file_system, kernel)) {
      place.owner_mapping = OwnerMapping::likely;
    }
    places.push_back(std::move(place));
  }
  return places;
}

// "VmX:   123 kB" of /proc/meminfo.
uint64_t memory_line(const std::string& text, std::string_view name) {
  const size_t at = text.find(std::string(name) + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + name.size() + 1, nullptr, 10) * 1024;
}

std::optional<int64_t> find_process_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

// pids.max of the group that we are in, of either version.
std::optional<int64_t> find_group_limit(const std::vector<Mounted>& mounts) {
  for (const auto& line : split(read_text("/proc/self/cgroup"), '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool unified = parts[0] == "0";
    if (!unified && parts[1] != "pids") continue;
    for (const auto& mount : mounts) {
      const auto options = split(mount.options, ',');
      const bool fits =
          unified ? mount.kind == "cgroup2"
                  : mount.kind == "cgroup" && std::ranges::find(options, "pids") != options.end();
      if (!fits) continue;
      if (const auto most = read_number(mount.path + parts[2] + "/pids.max")) return most;
    }
  }
  return std::nullopt;
}

EngineFacts with_socket(EngineFacts engine, const std::vector<std::string>& sockets) {
  for (const auto& path : sockets) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    engine.socket = path;
    engine.may_use_socket = access(path.c_str(), R_OK | W_OK) == 0;
    break;
  }
  return engine;
}

EngineFacts find_engine(std::string name, const std::string& program,
                        const std::vector<std::string>& sockets, const char* variable = nullptr) {
  constexpr std::string_view kUnix = "unix://";
  EngineFacts engine;
  engine.name = std::move(name);
  engine.program = find_program(program);
  // Where the environment says that it is, the driver looks, and nowhere else.
  const char* const where = variable != nullptr ? getenv(variable) : nullptr;
  const std::string named = where != nullptr ? where : "";
  if (!named.empty() && !named.starts_with(kUnix) && !named.starts_with('/')) {
    engine.socket = named;
    engine.may_use_socket = true;  // whether it answers, its driver tells
    return engine;
  }
  if (!named.empty()) {
    const std::string path = named.starts_with('/') ? named : named.substr(kUnix.size());
    return with_socket(std::move(engine), {path});
  }
  return with_socket(std::move(engine), sockets);
}

std::vector<EngineFacts> find_engines() {
  const std::string own = "/run/user/" + std::to_string(geteuid());
  return {
      find_engine("docker", "docker", {"/run/docker.sock", own + "/docker.sock"}, "DOCKER_HOST"),
      find_engine("podman", "podman", {"/run/podman/podman.sock", own + "/podman/podman.sock"},
                  "CONTAINER_HOST"),
      find_engine("containerd", "containerd", {"/run/containerd/containerd.sock"}),
      find_engine("runc", "runc", {}),
      find_engine("runsc", "runsc", {}),
      find_engine("firecracker", "firecracker", {}),
      find_engine("qemu", "qemu-system-x86_64", {}),
  };
}

// What a program of ours says first when it is asked for its version: "atoll-agent 0.1.0".
std::string ask_version(const std::string& path, const std::string& name) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  Fd read_end(ends[0]), write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::string program = path, flag = "--version";
  char* arguments[] = {program.data(), flag.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return "";
  write_end.close();

  std::string said;
  const Micros give_up = system_clock().boot() + kCompanionPatience;
  char buffer[512];
  while (said.size() < sizeof buffer) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(give_up - system_clock().boot());
    pollfd waiting{read_end.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = read(read_end.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    said.append(buffer, static_cast<size_t>(got));
  }
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!said.starts_with(name + " ")) return "";
  const std::string rest = said.substr(name.size() + 1);
  return rest.substr(0, rest.find_first_of(": \n"));
}

std::vector<CompanionFacts> find_companions(const std::string& libexec) {
  std::vector<CompanionFacts> companions;
  for (const char* name : {"atoll-launcher", "atoll-agent", "atoll-pool", "atoll-oci"}) {
    CompanionFacts companion{name, libexec.empty() ? "" : libexec + "/" + name, false, ""};
    companion.is_there = !libexec.empty() && access(companion.path.c_str(), X_OK) == 0;
    if (companion.is_there) companion.version = ask_version(companion.path, name);
    companions.push_back(std::move(companion));
  }
  return companions;
}

void look_at_state(HostFacts& facts) {
  // What is not there yet would be made in the nearest directory that is.
  std::string path = facts.state_directory;
  while (path.size() > 1 && !exists(path)) {
    const size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (path == ".") break;
  }
  struct statvfs space{};
  if (statvfs(path.c_str(), &space) == 0) {
    facts.state_free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
    facts.state_free_inodes = space.f_favail;
  }
  facts.may_write_state = access(path.c_str(), W_OK) == 0;
}

void look_at_kernel(HostFacts& facts) {
  utsname name{};
  if (uname(&name) == 0) {
    facts.kernel = name.release;
    facts.machine = name.machine;
  }
  facts.is_wsl = facts.kernel.find("icrosoft") != std::string::npos;
  facts.is_virtual = read_text("/proc/cpuinfo").find(" hypervisor") != std::string::npos;
  facts.container = find_container();

  facts.max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces");
  facts.unprivileged_userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_restricts_userns =
      read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.has_apparmor = read_text("/sys/module/apparmor/parameters/enabled") == "Y";
  if (facts.has_apparmor) facts.apparmor_profile = read_text("/proc/self/attr/current");
  facts.has_launcher_profile = exists("/etc/apparmor.d/atoll-launcher");
  if (const auto enforce = read_number("/sys/fs/selinux/enforce")) {
    facts.selinux = *enforce == 1 ? SelinuxMode::enforcing : SelinuxMode::permissive;
  }
  facts.security_modules = read_text("/sys/kernel/security/lsm");
  facts.landlock_abi = landlock_abi();
  // EFAULT: it knows filters, and finds none at this address.
  facts.has_seccomp = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
  facts.has_overlay = kernel_knows("overlay") || is_module(facts.kernel, "fs/overlayfs/overlay");
}

}  // namespace

HostFacts look_at_host(const WhereToLook& where) {
  HostFacts facts;
  facts.user = geteuid();
  facts.own_version = where.own_version;
  look_at_kernel(facts);
  const auto mounts = read_mounts();

  const auto slice = CgroupSlice::probe();
  facts.cgroups = slice.version();
  facts.cgroup_roles = slice.roles();
  facts.cgroup_reason = slice.reason();
  if (!slice.trees().empty()) facts.cgroup_place = slice.trees().front().path;

  facts.namespaces = try_namespaces();
  facts.places = look_at_places(mounts, facts.kernel);
  facts.pool = find_pool_obstacle();

  const std::string memory = read_text("/proc/meminfo");
  facts.memory_bytes = memory_line(memory, "MemTotal");
  facts.available_memory_bytes = memory_line(memory, "MemAvailable");
  facts.swap_bytes = memory_line(memory, "SwapTotal");
  facts.processors = static_cast<uint32_t>(std::max<long>(sysconf(_SC_NPROCESSORS_ONLN), 1));
  facts.pid_max = read_number("/proc/sys/kernel/pid_max");
  facts.process_limit = find_process_limit();
  facts.cgroup_pid_max = find_group_limit(mounts);
  facts.inotify_instances = read_number("/proc/sys/fs/inotify/max_user_instances");
  facts.inotify_watches = read_number("/proc/sys/fs/inotify/max_user_watches");

  facts.has_kvm = exists("/dev/kvm");
  facts.may_use_kvm = Fd(open("/dev/kvm", O_RDWR | O_CLOEXEC)).get() >= 0;
  facts.engines = find_engines();

  timex clock{};
  const int clock_state = adjtimex(&clock);
  facts.clock_is_synchronised = clock_state >= 0 && clock_state != TIME_ERROR;
  char byte = 0;
  facts.has_entropy = getrandom(&byte, 1, GRND_NONBLOCK) == 1;

  facts.state_directory = where.state_directory;
  look_at_state(facts);
  facts.libexec = where.libexec;
  facts.companions = find_companions(where.libexec);
  return facts;
}

}  // namespace atl::native
