#include "native/launcher/box_maker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "native/agent_places.h"
#include "native/box_facts.h"
#include "native/child/box_child.h"
#include "native/child/in_child.h"
#include "native/landlock.h"
#include "native/user_namespace.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

constexpr int kAttempts = 5;
constexpr const char* kAllowNamespaces =
    "allow them: sysctl -w user.max_user_namespaces=65536 kernel.unprivileged_userns_clone=1 "
    "kernel.apparmor_restrict_unprivileged_userns=0";
// For so long what was seen of the host is believed: a hundred calls that say the same.
constexpr auto kGlance = std::chrono::seconds(1);

bool has_capability(int capability) {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct held[2]{};
  if (syscall(SYS_capget, &header, held) != 0) return false;
  return (held[capability / 32].effective >> (capability % 32) & 1U) != 0;
}

ATOLL_IN_CHILD int end_at_once(void*) { _exit(0); }

// Asks the kernel by doing it: settings that forbid it have many names, and one of them lets the
// namespace be made but gives no rights in it. Root needs none there: its own are what the other
// namespaces are made with, and making those here would take as long as making a sandbox's.
Result<> try_user_namespace() {
  pid_t child = 0;
  if (geteuid() == 0) {
    alignas(16) char stack[4096];
    child = clone(end_at_once, stack + sizeof stack,
                  CLONE_VM | CLONE_VFORK | CLONE_NEWUSER | SIGCHLD, nullptr);
  } else {
    child = fork();
    if (child == 0)
      _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0 &&
                    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : errno);
  }
  if (child < 0)
    return os_error(geteuid() == 0 ? "making a user namespace" : "starting a process")
        .with_hint(kAllowNamespaces);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int failure = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  if (failure == 0) return {};
  return os_error_from(failure, "making a user namespace").with_hint(kAllowNamespaces);
}

BoxSupport look(const CgroupSlice& cgroups) {
  BoxSupport support;
  support.rootless = geteuid() != 0;
  support.cgroup_version = cgroups.version();
  support.cgroup_roles = cgroups.roles();
  support.cgroup_reason = cgroups.reason();
  const auto refuse = [&](std::string reason, std::string hint) {
    support.reason = std::move(reason);
    support.hint = std::move(hint);
    return support;
  };
  if (landlock_abi() < 1) {
    return refuse("the kernel does not offer Landlock",
                  "it needs kernel 5.13 or later and 'landlock' in the lsm= boot parameter");
  }
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == 0 || errno != EFAULT)
    return refuse("the kernel does not offer seccomp", "it needs CONFIG_SECCOMP_FILTER");
  for (const int needed :
       {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_CHOWN, CAP_NET_ADMIN}) {
    if (!support.rootless && !has_capability(needed)) {
      return refuse("the launcher is root without the capabilities to make namespaces",
                    "run it outside of a container, or give the container CAP_SYS_ADMIN");
    }
  }
  if (auto tried = try_user_namespace(); !tried)
    return refuse(tried.error().message(), tried.error().hint());
  if (!support.rootless && cgroups.version() == CgroupVersion::none)
    return refuse("no cgroups: " + cgroups.reason(), "mount cgroup2 at /sys/fs/cgroup");
  support.available = true;
  return support;
}

// Who shares processors joins a group of all launchers, and one of them that leaves removes it if
// nobody is in it.
bool is_gone(const Error& error) {
  return error.os_errno() == ENODEV || error.os_errno() == ENOENT;
}

// A tree is shown whole or not at all: leaving out what is mounted below would lay open what that
// covers.
Result<> check_no_mounts_below(int directory) {
  TRY(const auto path, os::path_of(directory));
  const std::string prefix = path == "/" ? path : path + "/";
  TRY(const auto mounts, os::read_file(AT_FDCWD, "/proc/self/mountinfo", 4 << 20));
  for (const auto& line : split(mounts, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() > 4 && fields[4] != path && fields[4].starts_with(prefix)) {
      return Error(Code::unsupported, "'" + to_printable(path) +
                                          "' cannot be copied on write: another file system is "
                                          "mounted at " +
                                          to_printable(fields[4]))
          .with_hint("show it read-only (:ro), or name a directory below it");
    }
  }
  return {};
}

Result<> idmap(int tree, const Fd& name_space, const char* what) {
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_IDMAP;
  wanted.userns_fd = static_cast<uint64_t>(name_space.get());
  if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) == 0) return {};
  return os_error("mapping the owner of a directory", what)
      .with_hint(
          "its file system has no idmapped mounts; ext4, xfs, btrfs and, since kernel 6.3, "
          "tmpfs have");
}

}  // namespace

BoxMaker::BoxMaker(CgroupSlice cgroups, LayerSet without)
    : cgroups_(std::move(cgroups)),
      processors_(cgroups_),
      without_(without),
      support_(look(cgroups_)) {
  support_.dedicated = support_.available && processors_.check().has_value();
}

BoxMaker::~BoxMaker() {
  if (!opened_) return;
  cgroups_.remove_if_empty();
  processors_.remove_if_empty();
}

Result<std::unique_ptr<BoxMaker>> BoxMaker::create() {
  TRY(const auto without, layers_switched_off());
  return std::unique_ptr<BoxMaker>(new BoxMaker(CgroupSlice::probe(), without));
}

Result<> BoxMaker::open_once() {
  if (opened_) return {};
  TRY_OK(cgroups_.open());
  cgroups_.remove_abandoned();
  if (!support_.rootless) {
    TRY(id_directory_, open_id_directory());
  }
  opened_ = true;
  return {};
}

Result<BoxCgroups> BoxMaker::find_cgroups(const std::string& id) {
  TRY_OK(open_once());
  return BoxCgroups::find(cgroups_, id);
}

void BoxMaker::adopt(const Record& record) {
  if (auto set = parse_processors(record.processors)) processors_.adopt(record.id, std::move(*set));
  if (record.pool_bytes > 0) pool_.adopt(record.id, record.pool_bytes);
}

Result<> BoxMaker::release(const std::string& id, IdRange& ids, Fd network) {
  networks_.give_back(std::move(network));
  processors_.give_back(id);
  // That of the sandbox itself may be the last lock there was.
  if (slots_.erase(ids.slot) > 0) first_free_ = std::min(first_free_, ids.slot);
  ids.lock.close();
  return pool_.remove(id);
}

// Every directory as a tree of mounts that hangs nowhere, with its ids translated.
Result<std::vector<Fd>> BoxMaker::detach(const BoxOrder& order, const IdRange& ids, const Fd& own) {
  std::vector<Fd> trees;
  const uid_t client = order.client.uid;
  for (size_t i = 0; i < order.directories.size(); ++i) {
    const int directory = order.directories[i].get();
    const bool is_root = order.request.has_root && i == 0;
    const size_t number = i - (order.request.has_root ? 1 : 0);
    const ShownAs shown = is_root ? ShownAs::cow : order.request.directories[number].shown;
    if (shown == ShownAs::cow) TRY_OK(check_no_mounts_below(directory));
    Fd tree(open_tree(directory, "",
                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
    if (!tree) return os_error("taking a directory of the host");
    struct stat info{};
    if (fstat(directory, &info) != 0) return os_error("looking at a directory of the host");
    if (is_root && client == 0) {
      TRY_OK(idmap(tree.get(), own, "(the root)"));
    } else {
      // Root may show what belongs to anybody; others, what is theirs.
      const uid_t owner = client == 0 ? info.st_uid : client;
      const gid_t group = client == 0 ? info.st_gid : order.client.gid;
      const uint32_t inside = ids.base() + (is_root ? 0 : kUserId);
      TRY(const auto single,
          make_user_namespace({owner, inside, 1}, {group, inside, 1}, ids.base()));
      auto mapped = idmap(tree.get(), single, is_root ? "(the root)" : "");
      // Without it a read-only directory shows what everybody may read.
      if (!mapped && shown != ShownAs::ro) return std::move(mapped).error();
    }
    trees.push_back(std::move(tree));
  }
  return trees;
}

const HostView& BoxMaker::look_at_host() {
  const Micros now = system_clock().boot();
  if (looked_at_ == Micros(0) || now - looked_at_ > kGlance) {
    host_ = view_host();
    looked_at_ = now;
    plan_.reset();
  }
  return host_;
}

Result<std::shared_ptr<const Plan>> BoxMaker::plan_for(const BoxOrder& order) {
  const HostView& host = look_at_host();
  if (plan_ && planned_ == order.request) return plan_;
  const auto authority = support_.rootless ? Authority::rootless : Authority::root;
  TRY(auto plan, make_plan(order.id, order.request, host, authority, cgroups_, without_));
  planned_ = order.request;
  plan_ = std::make_shared<const Plan>(std::move(plan));
  return plan_;
}

int BoxMaker::network_to_make() const {
  const bool is_needed = support_.available && !support_.rootless &&
                         !without_.has(Layer::network_namespace) && networks_.is_empty();
  return is_needed ? networks_.home() : -1;
}

Result<std::unique_ptr<BoxInMaking>> BoxMaker::begin(BoxOrder order) {
  if (!support_.available) {
    return Error(Code::unavailable, support_.reason).with_hint(support_.hint);
  }
  TRY_OK(open_once());
  auto made = std::make_unique<BoxInMaking>();
  BoxInMaking& making = *made;
  making.order = std::move(order);
  TRY(making.plan, plan_for(making.order));
  BoxLaunch& launch = making.launch;
  launch.plan = making.plan.get();
  TRY(making.shared_root, shared_roots_.find(*making.plan));
  if (making.shared_root) {
    launch.shared_root = making.shared_root->root.get();
    launch.shared_stage = making.shared_root->stage.get();
  }
  launch.program = making.order.program;
  launch.outer_user = geteuid();
  launch.outer_group = getegid();
  if (!support_.rootless) {
    uint32_t hint = first_free_;
    while (slots_.contains(hint)) ++hint;
    first_free_ = hint;
    TRY(making.box.ids, take_id_range(id_directory_, hint));
    if (!without_.has(Layer::user_namespace)) {
      const uint32_t base = making.box.ids.base();
      TRY(making.name_space,
          make_user_namespace({0, base, kIdsPerBox}, {0, base, kIdsPerBox}, base));
      launch.user_namespace = making.name_space.get();
      launch.first_id = base;
    }
    if ((making.plan->namespaces & CLONE_NEWNET) != 0 && networks_.home() >= 0) {
      making.box.network = networks_.take();
      launch.network = &making.box.network;
      launch.home_network = networks_.home();
    }
  }
  TRY_OK(gather_trees(making));
  if (!without_.has(Layer::landlock) && !making.plan->sentry) {
    TRY(making.landlock, LandlockRules::create(LandlockTcp::leave));
    launch.landlock = making.landlock->descriptor();
    launch.landlock_abi = making.landlock->abi();
  }
  // Without root's rights the agent is who we are, and nothing can be given to anybody else.
  making.agent_outside = support_.rootless ? geteuid() : launch.first_id;
  if (making.order.request.dedicated_cpus > 0) {
    TRY(const auto taken, processors_.take(making.order.id, making.order.request.dedicated_cpus));
    making.box.processors = to_text(taken);
  }
  auto prepared = [&]() -> Result<> {
    if (making.plan->cgroup_version != CgroupVersion::none) {
      TRY(making.box.cgroups, BoxCgroups::create(cgroups_, making.order.id, making.agent_outside));
    }
    return prepare_launch(making);
  }();
  if (!prepared) {
    give_up(making);
    return std::move(prepared).error();
  }
  if (making.box.ids.lock) slots_.insert(making.box.ids.slot);
  return made;
}

Result<> BoxMaker::gather_trees(BoxInMaking& making) {
  const BoxOrder& order = making.order;
  if (!support_.rootless) {
    TRY(making.detached, detach(order, making.box.ids, making.name_space));
    for (const auto& tree : making.detached) making.trees.push_back({tree.get(), nullptr, 0, 0});
  } else {
    for (const auto& directory : order.directories) {
      TRY(auto path, os::path_of(directory.get()));
      making.paths.push_back(std::move(path));
    }
    for (size_t i = 0; i < making.paths.size(); ++i) {
      struct stat info{};
      if (fstat(order.directories[i].get(), &info) != 0) return os_error("looking at a directory");
      making.trees.push_back({-1, making.paths[i].c_str(), info.st_dev, info.st_ino});
    }
  }
  if (making.plan->storage == Storage::pool) {
    TRY(auto store, pool_.create(order.id, making.plan->disk_bytes));
    making.box.pool_bytes = making.plan->disk_bytes;
    if (making.name_space) TRY_OK(idmap(store.get(), making.name_space, "(the storage pool)"));
    making.trees.push_back({store.get(), nullptr, 0, 0});
    making.detached.push_back(std::move(store));
  }
  making.launch.trees = making.trees.data();
  making.launch.tree_count = making.trees.size();
  return {};
}

Result<> BoxMaker::prepare_launch(BoxInMaking& making) {
  BoxLaunch& launch = making.launch;
  MadeBox& box = making.box;
  const BoxOrder& order = making.order;
  BoxFacts facts = facts_of(*making.plan);
  making.joins.clear();
  making.work.clear();
  if (box.cgroups) {
    // A launcher that leaves may remove the group between finding and opening it.
    auto joined = processors_.join(order.id);
    for (int i = 1; i < kAttempts && !joined && is_gone(joined.error()); ++i)
      joined = processors_.join(order.id);
    TRY(making.processors, std::move(joined));
    if (making.processors) making.joins.push_back(making.processors.get());
  }
  for (const auto& join : box.cgroups.joins()) making.joins.push_back(join.get());
  for (const auto& leave : box.cgroups.leaves()) making.joins.push_back(leave.get());
  launch.leave_count = box.cgroups.leaves().size();
  for (const auto& group : box.cgroups.work()) {
    making.work.push_back(group.directory.get());
    facts.work_roles.push_back(group.roles);
  }
  for (const auto& shown : order.request.directories) facts.shown.push_back(shown.guest_path);
  facts.has_id_lock = static_cast<bool>(box.ids.lock);
  TRY(making.token, told_pipe(order.token, facts));
  making.given = {order.connection.get(), order.listener.get(), order.config.get(),
                  making.token.get()};
  if (box.ids.lock) making.given.push_back(box.ids.lock.get());
  making.given.insert(making.given.end(), making.work.begin(), making.work.end());
  making.hand_down = "+memory +pids";
  if (making.plan->cgroup.cpu_millis > 0 || making.plan->cgroup.cpu_weight > 0 ||
      (cgroups_.roles() & kRoleCpu) != 0) {
    making.hand_down += " +cpu";
  }
  launch.given = making.given.data();
  launch.given_count = making.given.size();
  launch.joins = making.joins.data();
  launch.join_count = making.joins.size();
  launch.hand_down = box.cgroups.hand_down() ? box.cgroups.hand_down().get() : -1;
  launch.hand_down_text = making.hand_down.c_str();
  launch.work_groups = making.work.data();
  launch.work_group_count = making.work.size();
  launch.failed_at = BoxStage::none;
  return {};
}

Result<bool> BoxMaker::end(BoxInMaking& making, Result<StartedAgent> started) {
  MadeBox& box = making.box;
  const auto settle = [&]() -> Result<> {
    TRY(box.agent, std::move(started));
    // No command can run yet: the way to the agent is not open to anybody before we answer.
    if (!box.cgroups) return {};
    TRY_OK(box.cgroups.finish(making.agent_outside, making.plan->cgroup));
    return processors_.pin(making.order.id);
  };
  // What is open below /proc/self/net pins the namespace and is counted nowhere. Who shows it to a
  // process outside, by a socket in a directory that both see, would go on reading in it.
  if (!making.order.directories.empty()) box.network.close();
  auto settled = settle();
  if (settled) return false;
  // So may it before our child has joined.
  if (!box.agent.pidfd && is_gone(settled.error()) && ++making.attempts < kAttempts) {
    settled = prepare_launch(making);
    if (settled) return true;
  }
  give_up(making);
  return std::move(settled).error();
}

void BoxMaker::give_up(BoxInMaking& making) {
  MadeBox& box = making.box;
  if (box.agent.pidfd) {
    static_cast<void>(os::send_signal(box.agent.pidfd, SIGKILL));
    waitpid(box.agent.pid, nullptr, 0);
  }
  static_cast<void>(box.cgroups.remove());
  static_cast<void>(release(making.order.id, box.ids, std::move(box.network)));
}

}  // namespace atl::native
