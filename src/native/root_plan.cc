#include "native/root_plan.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "native/cpuinfo.h"
#include "native/landlock.h"

namespace atl::native {
namespace {

constexpr uint64_t kNoSuid = MOUNT_ATTR_NOSUID;
constexpr uint64_t kPlain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr uint64_t kReadOnly = kPlain | MOUNT_ATTR_RDONLY;
constexpr uint64_t kNoExec = kPlain | MOUNT_ATTR_NOEXEC;
constexpr uint64_t kAsMounted = 0;

constexpr struct {
  const char* name;
  uint32_t major, minor;
} kDevices[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};

// Ours, so that they tell of the sandbox and not of the host. The agent writes them, but for the
// first, which never changes.
constexpr const char* kTold[] = {"cpuinfo", "meminfo", "stat", "loadavg"};
// Harmless, and programs look for them; links lead to the process's own entries. Uptime is what
// every clock tells, and ps and top compare it with the kernel's own start times.
constexpr const char* kLeftOpen[] = {"filesystems", "version", "uptime"};

// In the place of the kernel's settings, the few that programs ask for: names and values.
constexpr const char* kSettings =
    "kernel/pid_max 32768 kernel/cap_last_cap 40 kernel/ngroups_max 65536 "
    "kernel/random/entropy_avail 256 kernel/random/poolsize 256 net/core/somaxconn 4096 "
    "vm/overcommit_memory 0 vm/max_map_count 65530 vm/swappiness 0 fs/file-max 1048576 "
    "fs/nr_open 1048576 fs/inotify/max_user_watches 65536 fs/inotify/max_user_instances 128 "
    "fs/inotify/max_queued_events 16384";

class RootPlanner final {
 public:
  RootPlanner(const BoxRequest& request, const HostView& host, Plan& plan)
      : request_(request),
        host_(host),
        plan_(plan),
        home_(request.home.empty() ? kHome : request.home) {}

  Result<> make() {
    stage();
    if (request_.has_root) {
      store();
      foreign_root();
    } else {
      host_root();
    }
    sudo();
    devices();
    if (request_.sentry) sentry();
    processors();
    if (can_share()) {
      seal("root");
      plan_.shared_steps = plan_.steps.size();
    }
    if (!request_.has_root) {
      store();
      own_places();
    }
    own_devices();
    proc();
    TRY_OK(directories());
    if (!can_share()) seal(request_.has_root ? "root/dev" : "root");
    add({.kind = StepKind::move_into_root, .target = "root"});
    landlock();
    return {};
  }

 private:
  Step& add(Step step) { return plan_.steps.emplace_back(std::move(step)); }

  void directory(std::string target, uint32_t mode = 0755, int64_t owner = 0) {
    add({.kind = StepKind::directory, .target = std::move(target), .mode = mode, .owner = owner});
  }
  void file(std::string target, std::string text, uint32_t mode = 0644) {
    add({.kind = StepKind::file,
         .target = std::move(target),
         .text = std::move(text),
         .mode = mode,
         .owner = 0,
         .optional = request_.has_root});
  }
  void link(std::string target, std::string text) {
    add({.kind = StepKind::link, .target = std::move(target), .text = std::move(text)});
  }
  Step& bind(std::string source, std::string target, uint64_t attributes, bool recursive = false) {
    return add({.kind = StepKind::bind,
                .target = std::move(target),
                .source = std::move(source),
                .attributes = attributes,
                .optional = true,
                .recursive = recursive});
  }
  void tmpfs(std::string target, std::string options, uint64_t attributes) {
    add({.kind = StepKind::tmpfs,
         .target = std::move(target),
         .text = std::move(options),
         .owner = 0,
         .attributes = attributes});
  }
  void seal(std::string target) {
    add({.kind = StepKind::seal, .target = std::move(target), .attributes = MOUNT_ATTR_RDONLY});
  }

  // What is not the sandbox's own is made once for all of a kind. Whoever brings directories of
  // their own needs places for them in the root, which must not be everybody's then; and a sandbox
  // that lacks a layer is a test's.
  bool can_share() const {
    return plan_.authority == Authority::root && !request_.has_root &&
           request_.directories.empty() && plan_.without.empty() && !request_.sentry;
  }

  // Where everything is put together, and what the sandbox shows in the place of the kernel's own.
  void stage() {
    for (const char* name : {"root", "store", "memory", "mask"}) directory(name);
    file("uuid", "", 0444);
    tmpfs("mask", "size=64k,nr_inodes=16,mode=755", kNoExec);
    file("mask/file", "", 0444);
    directory("mask/directory", 0555);
    seal("mask");
    settings();
  }

  // Everything that the sandbox writes is in here: one limit of bytes and inodes for all of it.
  void store() {
    if (plan_.storage == Storage::pool) {
      store_in_pool();
    } else {
      tmpfs("store",
            "size=" + std::to_string(plan_.disk_bytes) +
                ",nr_inodes=" + std::to_string(plan_.inodes) + ",mode=755",
            kPlain);
    }
    directory(in_memory("shm"), 01777);
    plan_.told = in_memory("told");
    directory(plan_.told);
    if (request_.has_root) return;
    directory("store/workspace", 0755, kUserId);
    directory("store/home", 0755, kUserId);
    directory("store/tmp", 01777);
    directory("store/var-tmp", 01777);
    directory("store/run", 01777);
    directory("store/root-home", 0700);
  }

  // Given beside the request's own directories. Shared memory stays memory: half of the sandbox's.
  void store_in_pool() {
    const size_t slot = request_.directories.size() + (request_.has_root ? 1 : 0);
    add({.kind = StepKind::tree,
         .target = "store",
         .attributes = kPlain,
         .slot = static_cast<int>(slot)});
    const uint64_t memory = plan_.cgroup.memory_bytes;
    tmpfs("memory",
          "size=" + std::to_string((memory > 0 ? memory : kDefaultMemory) / 2) +
              ",nr_inodes=16k,mode=755",
          kPlain);
  }
  std::string in_memory(const char* name) const {
    return std::string(plan_.storage == Storage::pool ? "memory/" : "store/") + name;
  }

  void host_root() {
    tmpfs("root", "size=1m,nr_inodes=1k,mode=755", kNoSuid);
    for (const auto& entry : host_.system) {
      if (entry.kind == HostEntryKind::link) {
        link("root/" + entry.name, entry.target);
      } else {
        directory("root/" + entry.name);
        bind("/" + entry.name, "root/" + entry.name, kReadOnly, true).inode = entry.inode;
      }
    }
    // What an administrator has configured is not for guests.
    if (host_.has_usr_local_etc) bind("mask/directory", "root/usr/local/etc", 0);
    etc();
    for (const char* name : {"home", "root", "tmp", "var", "var/tmp", "var/lib", "var/log",
                             "var/cache", "run", "workspace", "opt", "mnt", "dev", "proc"}) {
      directory(std::string("root/") + name);
    }
    link("root/var/run", "/run");
    // The user's one home. Where it has another name the usual one leads there, so that what is
    // kept of a sandbox has its place whatever it is called.
    directory("root" + home_);
    if (home_ != kHome) link(std::string("root") + kHome, home_.substr(home_.rfind('/') + 1));
  }

  void own_places() {
    bind("store/home", "root" + home_, kAsMounted);
    bind("store/tmp", "root/tmp", kAsMounted);
    bind("store/var-tmp", "root/var/tmp", kAsMounted);
    bind("store/run", "root/run", kAsMounted);
    bind("store/root-home", "root/root", kAsMounted);
    if (!request_.has_workspace) bind("store/workspace", "root/workspace", kAsMounted);
  }

  // From one copy that is mounted as all of them are to be.
  void etc() {
    directory("etc");
    bind("/etc", "etc", kReadOnly, true);
    directory("root/etc");
    for (const auto& entry : host_.etc) {
      const std::string target = "root/etc/" + entry.name;
      if (const size_t slash = entry.name.rfind('/'); slash != std::string::npos) {
        directory("root/etc/" + entry.name.substr(0, slash));
      }
      if (entry.kind == HostEntryKind::link) {
        link(target, entry.target);
      } else if (entry.kind == HostEntryKind::directory) {
        directory(target);
        bind("etc/" + entry.name, target, kAsMounted, true).inode = entry.inode;
      } else {
        file(target, "");
        bind("etc/" + entry.name, target, kAsMounted).inode = entry.inode;
      }
    }
    file("root/etc/passwd",
         "root:x:0:0:root:/root:/bin/bash\n"
         "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
         "user:x:1000:1000:user:" +
             home_ +
             ":/bin/bash\n"
             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    file("root/etc/group",
         "root:x:0:\ndaemon:x:1:\ntty:x:5:\nusers:x:100:\nuser:x:1000:\nnogroup:x:65534:\n");
    file("root/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    // Both addresses of localhost: without it the C library takes the first line that fits.
    file("root/etc/host.conf", "multi on\n");
    file("root/etc/shells", "/bin/sh\n/bin/bash\n");
    file("root/etc/profile", "export PATH=" + std::string(kSearchPath) + "\n");
    names();
  }

  void names() {
    file("root/etc/hostname", plan_.hostname + "\n");
    file("root/etc/hosts",
         "127.0.0.1 localhost " + plan_.hostname + "\n::1 localhost ip6-localhost\n");
    file("root/etc/resolv.conf", "");
  }

  void foreign_root() {
    directory("lower-root");
    add({.kind = StepKind::tree,
         .target = "lower-root",
         .attributes = kReadOnly,
         .slot = 0,
         .recursive = false});
    overlay("root", "lower-root", "store/root", 0);
    plan_.copy_on_write.push_back({"/", "store/root/upper", "lower-root"});
    for (const char* name : {"proc", "dev", "etc", "tmp", "home"}) {
      make_if_missing(std::string("root/") + name, name == std::string_view("tmp") ? 01777 : 0755,
                      0);
    }
    make_if_missing(std::string("root") + kHome, 0755, kUserId);
    if (home_ != kHome) make_if_missing("root" + home_, 0755, kUserId);
    if (!request_.has_workspace) make_if_missing("root/workspace", 0755, kUserId);
    names();
  }

  // Where nothing is in its way, and over the system's own, which can do nothing here.
  void sudo() {
    if (host_.sudo_program.empty()) return;
    for (const char* name : {"root/opt", "root/opt/atoll", "root/opt/atoll/bin"})
      make_if_missing(name, 0755, 0);
    file("root/opt/atoll/bin/sudo", "", 0755);
    bind(host_.sudo_program, "root/opt/atoll/bin/sudo", kReadOnly);
    bind(host_.sudo_program, "root/usr/bin/sudo", kReadOnly);
    if (request_.has_root || host_.warm_directory.empty()) return;
    directory("root/opt/atoll/warm");
    bind(host_.warm_directory, "root/opt/atoll/warm", kReadOnly);
  }

  void make_if_missing(std::string target, uint32_t mode, int64_t owner) {
    add({.kind = StepKind::directory,
         .target = std::move(target),
         .mode = mode,
         .owner = owner,
         .optional = true});
  }

  void overlay(std::string target, const std::string& lower, const std::string& store,
               int64_t owner) {
    directory(store);
    directory(store + "/upper", 0755, owner);
    directory(store + "/work", 0755, owner);
    std::string options = "lowerdir=" + lower + ",upperdir=" + store + "/upper,workdir=" + store +
                          "/work,index=off,metacopy=off";
    options += plan_.authority == Authority::rootless ? ",userxattr" : ",redirect_dir=off";
    add({.kind = StepKind::overlay,
         .target = std::move(target),
         .text = std::move(options),
         .attributes = kPlain});
  }

  void devices() {
    // In a root of our own they are as safe as the rest of it.
    if (request_.has_root) {
      tmpfs("root/dev", "size=64k,nr_inodes=64,mode=755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    }
    for (const auto& device : kDevices) {
      add({.kind = StepKind::device,
           .target = std::string("root/dev/") + device.name,
           .source = std::string("/dev/") + device.name,
           .mode = 0666,
           .owner = 0,
           .major = device.major,
           .minor = device.minor});
    }
    link("root/dev/fd", "/proc/self/fd");
    link("root/dev/stdin", "/proc/self/fd/0");
    link("root/dev/stdout", "/proc/self/fd/1");
    link("root/dev/stderr", "/proc/self/fd/2");
    link("root/dev/ptmx", "pts/ptmx");
    directory("root/dev/pts");
    directory("root/dev/shm");
    directory("root/dev/mqueue");
  }

  // The second kernel's program, and where it keeps its state: what runs in it has a /dev of its
  // own, and sees neither.
  void sentry() {
    for (const char* name : {"root/opt", "root/opt/atoll", "root/opt/atoll/bin"})
      make_if_missing(name, 0755, 0);
    file("root/opt/atoll/bin/atoll-agent", "", 0755);
    bind(host_.agent_program, "root/opt/atoll/bin/atoll-agent", kReadOnly);
    if (!host_.statx_library.empty()) {
      file("root/opt/atoll/bin/atoll-statx.so", "", 0755);
      bind(host_.statx_library, "root/opt/atoll/bin/atoll-statx.so", kReadOnly);
      file("root/etc/ld.so.preload", "/opt/atoll/bin/atoll-statx.so\n");
    }
    file("root/dev/runsc", "", 0755);
    bind(host_.runtime_program, "root/dev/runsc", kReadOnly);
    directory("root/dev/runtime");
    tmpfs("root/dev/runtime", "size=4m,nr_inodes=256,mode=700", kNoExec);
  }

  void own_devices() {
    // Without root, only who made a namespace may mount what shows it.
    const bool rootless = plan_.authority == Authority::rootless;
    if (!rootless || !plan_.without.has(Layer::ipc_namespace)) {
      add({.kind = StepKind::mqueue, .target = "root/dev/mqueue", .attributes = kNoExec});
    }
    bind(in_memory("shm"), "root/dev/shm", kNoExec);
    // The number of terminals is the host's to give: 64 each.
    add({.kind = StepKind::pts,
         .target = "root/dev/pts",
         .text = "mode=620,ptmxmode=666,max=64",
         .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC});
  }

  void proc() {
    if (plan_.authority == Authority::rootless && plan_.without.has(Layer::pid_namespace)) {
      bind("/proc", "root/proc", kNoExec, true);
    } else {
      add({.kind = StepKind::proc, .target = "root/proc", .attributes = kNoExec});
    }
    // A second kernel shows its own, and may mount one only where nothing of ours is covered.
    if (plan_.without.has(Layer::proc_masks) || request_.sentry) return;
    for (const char* name : kTold) {
      const std::string told = plan_.told + "/" + name;
      file(told, name == kTold[0] ? cpuinfo_text(host_.processor, plan_.processors) : "");
      bind(told, std::string("root/proc/") + name, kReadOnly);
    }
    // A new one with every reading: this one is the kernel's own.
    bind("root/proc/sys/kernel/random/uuid", "uuid", kReadOnly | MOUNT_ATTR_NOEXEC);
    bind("settings", "root/proc/sys", kReadOnly | MOUNT_ATTR_NOEXEC);
    bind("uuid", "root/proc/sys/kernel/random/uuid", kReadOnly | MOUNT_ATTR_NOEXEC);
    Step files{.kind = StepKind::mask, .target = "root/proc", .source = "mask/file"};
    Step directories{.kind = StepKind::mask, .target = "root/proc", .source = "mask/directory"};
    for (const auto& entry : host_.proc) {
      const auto is = [&](const char* name) { return entry.name == name; };
      if (entry.kind == HostEntryKind::link || entry.name == "sys" ||
          std::ranges::any_of(kTold, is) || std::ranges::any_of(kLeftOpen, is)) {
        continue;
      }
      std::string& names = (entry.kind == HostEntryKind::directory ? directories : files).text;
      names += (names.empty() ? "" : " ") + entry.name;
    }
    add(std::move(files));
    add(std::move(directories));
  }

  // What tells of the host is told as it is, or of the sandbox; the rest are constants.
  void settings() {
    utsname name{};
    uname(&name);
    for (const char* place :
         {"", "/kernel", "/kernel/random", "/vm", "/fs", "/fs/inotify", "/net", "/net/core"}) {
      directory(std::string("settings") + place, 0555);
    }
    const auto value = [&](const std::string& path, const std::string& text) {
      file("settings/" + path, text + "\n", 0444);
    };
    value("kernel/ostype", name.sysname);
    value("kernel/osrelease", name.release);
    value("kernel/version", name.version);
    value("kernel/hostname", plan_.hostname);
    value("kernel/threads-max", std::to_string(plan_.cgroup.pids));
    value("kernel/random/boot_id", "");
    value("kernel/random/uuid", "");
    const auto words = split(kSettings, ' ');
    for (size_t i = 0; i + 1 < words.size(); i += 2) value(words[i], words[i + 1]);
  }

  // All that there is of /sys: the C library and lscpu count processors by it.
  void processors() {
    const std::string top = request_.has_root ? "sys" : "root/sys";
    for (const char* place : {"", "/devices", "/devices/system", "/devices/system/cpu"})
      directory(top + place, 0555);
    const uint32_t last = plan_.processors - 1;
    const std::string range = last == 0 ? "0\n" : "0-" + std::to_string(last) + "\n";
    for (const char* name : {"online", "possible", "present"})
      file(top + "/devices/system/cpu/" + name, range, 0444);
    if (!request_.has_root) return;
    make_if_missing("root/sys", 0555, 0);
    bind("sys", "root/sys", kReadOnly | MOUNT_ATTR_NOEXEC);
  }

  Result<> directories() {
    struct Placed {
      const BoxDirectory* directory;
      int slot;
    };
    std::vector<Placed> placed;
    placed.reserve(request_.directories.size());
    int slot = request_.has_root ? 1 : 0;
    for (const auto& wanted : request_.directories) placed.push_back({&wanted, slot++});
    // What lies above is there before what lies below.
    std::ranges::sort(placed, {}, [](const Placed& p) {
      return std::pair(p.directory->guest_path.size(), p.slot);
    });
    for (const auto& [wanted, number] : placed) {
      TRY(const auto target, target_of(wanted->guest_path));
      const std::string name = std::to_string(number);
      if (wanted->shown != ShownAs::cow) {
        add({.kind = StepKind::tree,
             .target = target,
             .attributes = wanted->shown == ShownAs::ro ? kReadOnly : kPlain,
             .slot = number});
        continue;
      }
      directory("lower" + name);
      add({.kind = StepKind::tree,
           .target = "lower" + name,
           .attributes = kReadOnly,
           .slot = number});
      // The root of a copy has the owner of its upper directory.
      overlay(target, "lower" + name, "store/cow" + name, kUserId);
      plan_.copy_on_write.push_back(
          {wanted->guest_path, "store/cow" + name + "/upper", "lower" + name});
    }
    return {};
  }

  // What belongs to the sandbox itself cannot be covered from outside.
  static Result<std::string> target_of(const std::string& path) {
    const auto parts = split(path, '/');
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].empty() || parts[i] == "." || parts[i] == "..") {
        return Error(Code::invalid_argument, "'" + to_printable(path) + "' is not a plain path");
      }
    }
    if (!path.starts_with('/') || parts.size() < 2 || path.size() > 1024) {
      return Error(Code::invalid_argument, "'" + to_printable(path) + "' is not an absolute path");
    }
    for (const char* own : {"proc", "dev", "sys", "etc", "run"}) {
      if (parts[1] == own) {
        return Error(Code::invalid_argument,
                     "'" + to_printable(path) + "' belongs to the sandbox itself")
            .with_hint("choose a place such as /workspace/data or /mnt/data");
      }
    }
    return "root" + path;
  }

  void landlock() {
    const auto allow = [&](std::string path, FileAccess access) {
      plan_.landlock.push_back({std::move(path), access});
    };
    if (request_.has_root) {
      allow("/", FileAccess::read_write);
    } else {
      allow("/", FileAccess::read_only);
      allow("/opt/atoll", FileAccess::read_execute);
      for (const auto& entry : host_.system) {
        if (entry.kind == HostEntryKind::directory)
          allow("/" + entry.name, FileAccess::read_execute);
      }
      allow(home_, FileAccess::read_write);
      for (const char* path : {"/workspace", "/root", "/tmp", "/var/tmp", "/run"}) {
        allow(path, FileAccess::read_write);
      }
    }
    allow("/dev", FileAccess::device);
    allow("/dev/shm", FileAccess::read_write);
    allow("/dev/mqueue", FileAccess::read_write);
    allow("/proc", FileAccess::device);
    for (const auto& wanted : request_.directories) {
      allow(wanted.guest_path,
            wanted.shown == ShownAs::ro ? FileAccess::read_execute : FileAccess::read_write);
    }
  }

  const BoxRequest& request_;
  const HostView& host_;
  Plan& plan_;
  const std::string home_;
};

}  // namespace

Result<> plan_root(const BoxRequest& request, const HostView& host, Plan& plan) {
  return RootPlanner(request, host, plan).make();
}

}  // namespace atl::native
