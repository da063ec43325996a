#include "native/host_verdicts.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace atl::native {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr uint64_t kGibibyte = uint64_t{1} << 30;
// Below this a daemon's database and logs are at risk.
constexpr uint64_t kLittleDisk = 512 * kMebibyte;
constexpr uint64_t kFewInodes = 10'000;
constexpr int64_t kFewPids = 1'024;
constexpr int64_t kFewInstances = 512;  // each editor, watcher and browser takes some
constexpr int64_t kFewWatches = 65'536;

std::string sysctl(const std::string& name, const std::string& value) {
  return "sudo sysctl -w " + name + "=" + value + "\necho '" + name + "=" + value +
         "' | sudo tee -a /etc/sysctl.d/60-atoll.conf";
}

std::string in_words(uint64_t bytes) {
  char text[32];
  if (bytes >= kGibibyte) {
    std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / kGibibyte);
  } else {
    std::snprintf(text, sizeof text, "%llu MB", static_cast<unsigned long long>(bytes / kMebibyte));
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

int kernel_number(const std::string& release) {
  int major = 0, minor = 0;
  return std::sscanf(release.c_str(), "%d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

HostCheck kernel(const HostFacts& facts) {
  HostCheck check{"kernel",
                  Verdict::ok,
                  Need::required,
                  "Linux " + facts.kernel + ", " + facts.machine,
                  "everything: 5.13 at least, 5.19 for all of native",
                  ""};
  const int number = kernel_number(facts.kernel);
  if (number < 519) check.verdict = number < 513 ? Verdict::missing : Verdict::weak;
  if (number < 519)
    check.repair =
        "# install a newer kernel; on Debian and Ubuntu:\nsudo apt-get install --only-upgrade "
        "'linux-image-*'";
  return check;
}

HostCheck surroundings(const HostFacts& facts) {
  std::vector<std::string> parts;
  if (!facts.container.empty()) parts.push_back("in a container (" + facts.container + ")");
  if (facts.is_wsl) parts.push_back("WSL");
  if (facts.is_virtual) parts.push_back("a virtual machine");
  HostCheck check{"surroundings",
                  Verdict::ok,
                  Need::useful,
                  parts.empty() ? "a machine of its own, as far as it shows" : joined(parts),
                  "namespaces and cgroups, which containers often forbid",
                  ""};
  // Where a setting forbids namespaces, the container is not to blame.
  const bool by_setting = facts.max_user_namespaces == 0 || facts.unprivileged_userns_clone == 0;
  if (facts.container.empty() || facts.namespaces.works() || by_setting) return check;
  check.verdict = Verdict::weak;
  check.repair =
      "# run Atoll outside of the container, or start the container so that it may make "
      "namespaces:\n"
      "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
      "--security-opt systempaths=unconfined --cap-add SYS_ADMIN …";
  return check;
}

std::string controllers_of(uint8_t roles) {
  std::vector<std::string> names;
  if ((roles & kRoleMemory) != 0) names.emplace_back("memory");
  if ((roles & kRolePids) != 0) names.emplace_back("pids");
  if ((roles & kRoleCpu) != 0) names.emplace_back("cpu");
  if ((roles & kRoleFreezer) != 0) names.emplace_back("freezer");
  return names.empty() ? "no controller" : joined(names);
}

std::string cgroup_repair(const HostFacts& facts) {
  if (facts.user == 0) {
    return "# if nothing is mounted there:\nsudo mount -t cgroup2 none /sys/fs/cgroup\n"
           "# if controllers are missing, boot with: cgroup_enable=memory "
           "systemd.unified_cgroup_hierarchy=1";
  }
  return "sudo mkdir -p /etc/systemd/system/user@.service.d\n"
         "printf '[Service]\\nDelegate=cpu cpuset memory pids\\n' | "
         "sudo tee /etc/systemd/system/user@.service.d/atoll.conf\n"
         "sudo systemctl daemon-reload\n"
         "# log in again, then start it in a group of its own:\n"
         "systemd-run --user --scope -p Delegate=yes atoll run -- true";
}

HostCheck cgroups(const HostFacts& facts) {
  HostCheck check{"cgroups",
                  Verdict::ok,
                  Need::useful,
                  "",
                  "limits of memory, processor and processes; sure ends; pause",
                  ""};
  // Root's sandboxes are not made without; a user's are, with fewer limits.
  if (facts.user == 0) check.need = Need::required;
  if (facts.cgroups == CgroupVersion::none) {
    check.verdict = facts.user == 0 ? Verdict::missing : Verdict::weak;
    check.found = "not usable: " + facts.cgroup_reason;
    check.repair = cgroup_repair(facts);
    return check;
  }
  const std::string version = facts.cgroups == CgroupVersion::v2 ? "version 2" : "version 1";
  check.found = version + ", " + controllers_of(facts.cgroup_roles) + ", at " + facts.cgroup_place;
  constexpr uint8_t kAll = kRoleMemory | kRolePids | kRoleCpu | kRoleFreezer;
  if ((facts.cgroup_roles & kAll) != kAll) {
    check.verdict = Verdict::weak;
    check.repair = cgroup_repair(facts);
  }
  return check;
}

// AppArmor lets the namespace be made and takes its powers away, or refuses it: only for programs
// that have no profile.
bool apparmor_is_why(const HostFacts& facts) {
  return facts.apparmor_restricts_userns.value_or(0) != 0;
}

std::string userns_repair(const HostFacts& facts) {
  std::vector<std::string> parts;
  if (facts.max_user_namespaces == 0) parts.push_back(sysctl("user.max_user_namespaces", "65536"));
  if (facts.unprivileged_userns_clone == 0 && facts.user != 0) {
    parts.push_back(sysctl("kernel.unprivileged_userns_clone", "1"));
  }
  if (apparmor_is_why(facts) && facts.user != 0) {
    parts.push_back(apparmor_repair(facts.libexec + "/atoll-launcher"));
  }
  if (parts.empty() && !facts.container.empty()) {
    return "# the container forbids it: see surroundings";
  }
  if (parts.empty() && facts.namespaces.failure_of(facts.namespaces.broken_step()) == ENOSPC) {
    parts.push_back(sysctl("user.max_user_namespaces", "65536"));
  }
  return joined(parts, "\n");
}

HostCheck user_namespaces(const HostFacts& facts) {
  HostCheck check{"user_namespaces",
                  Verdict::ok,
                  Need::required,
                  "made and used",
                  "native and rootless: ids, mounts and processes of a sandbox's own",
                  ""};
  if (facts.namespaces.works()) {
    if (const int failed = facts.namespaces.failure_of(TrialStep::loopback)) {
      check.verdict = Verdict::weak;
      check.found = "made, but " + describe(TrialStep::loopback) + ": " + std::strerror(failed);
      check.repair = userns_repair(facts);
    }
    return check;
  }
  const TrialStep step = facts.namespaces.broken_step();
  check.verdict = Verdict::missing;
  check.found = describe(step) + ": " + std::strerror(facts.namespaces.failure_of(step));
  if (apparmor_is_why(facts) && facts.user != 0) {
    check.found += "; AppArmor restricts them";
    // We have no profile, and need none: the launcher makes the namespaces.
    if (facts.has_launcher_profile) {
      check.verdict = Verdict::weak;
      check.found += ", and the launcher has a profile: the driver rootless tells whether it helps";
    }
  }
  check.repair = userns_repair(facts);
  return check;
}

HostCheck security_modules(const HostFacts& facts) {
  std::vector<std::string> parts;
  if (facts.has_apparmor) {
    parts.push_back("AppArmor" +
                    (facts.apparmor_profile.empty() ? "" : ", we are " + facts.apparmor_profile));
    if (apparmor_is_why(facts)) parts.emplace_back("it restricts user namespaces");
  }
  if (facts.selinux != SelinuxMode::off) {
    parts.emplace_back(facts.selinux == SelinuxMode::enforcing ? "SELinux enforcing"
                                                               : "SELinux permissive");
  }
  if (parts.empty()) parts.emplace_back("neither AppArmor nor SELinux");
  HostCheck check{"security_modules",
                  Verdict::ok,
                  Need::useful,
                  joined(parts),
                  "nothing; but they may forbid what sandboxes need",
                  ""};
  const bool confined =
      !facts.apparmor_profile.empty() && !facts.apparmor_profile.starts_with("unconfined");
  if (confined && !facts.namespaces.works()) {
    check.verdict = Verdict::weak;
    check.repair = "# start atoll outside of the profile " + facts.apparmor_profile +
                   ", or allow it: userns, mount, pivot_root";
  }
  if (facts.selinux == SelinuxMode::enforcing && !facts.namespaces.works()) {
    check.verdict = Verdict::weak;
    check.repair = "sudo ausearch -m avc -ts recent -c atoll-launcher   # what was refused";
  }
  return check;
}

HostCheck landlock(const HostFacts& facts) {
  HostCheck check{"landlock",
                  Verdict::ok,
                  Need::required,
                  "ABI " + std::to_string(facts.landlock_abi),
                  "subprocess, native, rootless: files that code may reach",
                  ""};
  if (facts.landlock_abi >= 1) {
    // Not weak: no kernel setting gives more than this kernel has.
    if (facts.landlock_abi < 6)
      check.found += "; signals and abstract sockets are scoped from ABI 6 (kernel 6.12) on";
    return check;
  }
  check.verdict = Verdict::missing;
  check.found = facts.security_modules.empty()
                    ? "not offered"
                    : "not among the active modules: " + facts.security_modules;
  const std::string others =
      facts.security_modules.empty() ? "lockdown,yama,integrity,apparmor" : facts.security_modules;
  check.repair =
      "# kernel 5.13 or later, with Landlock among the active modules:\n"
      "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&lsm=landlock," +
      others +
      " /' /etc/default/grub\n"
      "sudo update-grub && sudo reboot";
  return check;
}

HostCheck seccomp(const HostFacts& facts) {
  HostCheck check{"seccomp",
                  Verdict::ok,
                  Need::required,
                  "filters can be set",
                  "subprocess, native, rootless: system calls that code may make",
                  ""};
  if (facts.has_seccomp) return check;
  check.verdict = Verdict::missing;
  check.found = "the kernel has no filters";
  check.repair = "# a kernel with CONFIG_SECCOMP_FILTER=y";
  return check;
}

HostCheck overlay(const HostFacts& facts) {
  HostCheck check{"overlay",
                  Verdict::ok,
                  Need::required,
                  "mounted in a user namespace",
                  "native, rootless: a writable root, --here=cow",
                  ""};
  const int failed = facts.namespaces.failure_of(TrialStep::overlay);
  if (failed == 0) return check;
  if (failed == ECANCELED && facts.has_overlay) {
    check.verdict = Verdict::weak;
    check.found = "the kernel has it; not tried, for want of user namespaces";
    return check;
  }
  check.verdict = Verdict::missing;
  check.found = failed == ECANCELED
                    ? "the kernel has none"
                    : std::string("mounting one in a user namespace: ") + std::strerror(failed);
  check.repair =
      failed == EPERM
          ? "# kernel 5.11 or later mounts them in user namespaces"
          : "sudo modprobe overlay\necho overlay | sudo tee /etc/modules-load.d/atoll.conf";
  return check;
}

HostCheck owner_mapping(const HostFacts& facts) {
  HostCheck check{"owner_mapping",
                  Verdict::ok,
                  Need::useful,
                  "",
                  "native: -v and --here with the right owner inside (idmapped mounts)",
                  ""};
  std::vector<std::string> parts;
  for (const auto& place : facts.places) {
    const bool fine =
        place.owner_mapping == OwnerMapping::works || place.owner_mapping == OwnerMapping::likely;
    const bool tried =
        place.owner_mapping == OwnerMapping::works || place.owner_mapping == OwnerMapping::refused;
    parts.push_back(place.path + " (" + place.file_system + ") " + (fine ? "yes" : "no") +
                    (tried ? "" : ", by its kind"));
    if (!fine) check.verdict = Verdict::weak;
  }
  check.found = joined(parts, "; ");
  if (check.verdict == Verdict::weak)
    check.repair = "# keep what sandboxes shall see on ext4, xfs or btrfs; tmpfs needs kernel 6.3";
  return check;
}

HostCheck storage_pool(const HostFacts& facts) {
  HostCheck check{"storage_pool",
                  Verdict::ok,
                  Need::useful,
                  "possible: btrfs in an image, made when a sandbox needs it",
                  "native: a --disk larger than 1 GiB or half the memory; without it, in memory",
                  ""};
  if (facts.pool.reason.empty()) return check;
  check.verdict = Verdict::missing;
  check.found = facts.pool.reason;
  check.repair = "sudo " + facts.pool.repair;
  return check;
}

HostCheck memory(const HostFacts& facts) {
  HostCheck check{"memory",
                  Verdict::ok,
                  Need::useful,
                  in_words(facts.memory_bytes) + ", " + in_words(facts.available_memory_bytes) +
                      " available, swap " +
                      (facts.swap_bytes == 0 ? "none" : in_words(facts.swap_bytes)) + ", " +
                      std::to_string(facts.processors) +
                      (facts.processors == 1 ? " processor" : " processors"),
                  "sandboxes: their files are in memory, too",
                  ""};
  if (facts.available_memory_bytes >= 256 * kMebibyte) return check;
  check.verdict = Verdict::weak;
  check.repair =
      "sudo fallocate -l 2G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo "
      "swapon /swapfile";
  return check;
}

HostCheck processes(const HostFacts& facts) {
  HostCheck check{"processes", Verdict::ok, Need::useful, "", "many sandboxes at once", ""};
  std::vector<std::string> parts, repairs;
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? std::to_string(*value) : std::string("no limit");
  };
  parts.push_back("kernel " + number(facts.pid_max));
  parts.push_back("user " + number(facts.process_limit));
  parts.push_back("cgroup " + number(facts.cgroup_pid_max));
  check.found = joined(parts);
  if (facts.pid_max && *facts.pid_max < 8 * kFewPids)
    repairs.push_back(sysctl("kernel.pid_max", "4194304"));
  if (facts.process_limit && *facts.process_limit < kFewPids)
    repairs.emplace_back("ulimit -u 8192   # and in /etc/security/limits.conf");
  if (facts.cgroup_pid_max && *facts.cgroup_pid_max < kFewPids)
    repairs.emplace_back(
        "# raise pids.max of the group: TasksMax= of its systemd unit, --pids-limit of its "
        "container");
  if (!repairs.empty()) check.verdict = Verdict::weak;
  check.repair = joined(repairs, "\n");
  return check;
}

HostCheck file_watches(const HostFacts& facts) {
  HostCheck check{"file_watches",
                  Verdict::ok,
                  Need::useful,
                  "",
                  "programs that watch files (inotify): editors, test runners, dev servers",
                  ""};
  const int64_t instances = facts.inotify_instances.value_or(0),
                watches = facts.inotify_watches.value_or(0);
  check.found = std::to_string(instances) + " instances, " + std::to_string(watches) +
                " watches for each user";
  std::vector<std::string> repairs;
  if (instances < kFewInstances) repairs.push_back(sysctl("fs.inotify.max_user_instances", "8192"));
  if (watches < kFewWatches) repairs.push_back(sysctl("fs.inotify.max_user_watches", "1048576"));
  if (!repairs.empty()) check.verdict = Verdict::weak;
  check.repair = joined(repairs, "\n");
  return check;
}

HostCheck kvm(const HostFacts& facts) {
  HostCheck check{"kvm", Verdict::ok, Need::optional, "/dev/kvm can be used", "drivers of level vm",
                  ""};
  if (facts.may_use_kvm) return check;
  check.verdict = Verdict::missing;
  if (facts.has_kvm) {
    check.found = "/dev/kvm is not for this user";
    check.repair = "sudo usermod -aG kvm \"$USER\"   # then log in again";
  } else {
    check.found = facts.is_virtual
                      ? "no /dev/kvm: this virtual machine has no nested virtualisation"
                      : "no /dev/kvm";
    if (!facts.is_virtual)
      check.repair =
          "sudo modprobe kvm_intel || sudo modprobe kvm_amd   # and switch it on in the firmware";
  }
  return check;
}

std::string install_repair(const std::string& name) {
  if (name == "firecracker") return "# https://github.com/firecracker-microvm/firecracker/releases";
  const std::string package = name == "docker" ? "docker.io"
                              : name == "qemu" ? "qemu-system-x86"
                                               : name;
  return "sudo apt-get install " + package + "   # on Debian and Ubuntu";
}

HostCheck engine(const EngineFacts& facts, uid_t user) {
  HostCheck check{facts.name, Verdict::ok, Need::optional, "", "", ""};
  const bool served =
      facts.name == "docker" || facts.name == "podman" || facts.name == "containerd";
  check.needed_for = facts.name == "runsc"            ? "drivers of level sentry (gVisor)"
                     : served || facts.name == "runc" ? "drivers that use containers"
                                                      : "drivers of level vm";
  if (facts.program.empty() && facts.socket.empty()) {
    check.verdict = Verdict::missing;
    check.found = "not installed";
    check.repair = install_repair(facts.name);
    return check;
  }
  check.found = facts.program;
  if (!facts.socket.empty()) check.found += (check.found.empty() ? "" : ", ") + facts.socket;
  if (!served) return check;
  if (facts.socket.empty()) {
    check.verdict = Verdict::weak;
    check.found += ", not running";
    const bool is_users_own = facts.name == "podman" && user != 0;
    check.repair = is_users_own             ? "systemctl --user enable --now podman.socket"
                   : facts.name == "podman" ? "systemctl enable --now podman.socket"
                                            : "sudo systemctl start " + facts.name;
  } else if (!facts.may_use_socket) {
    check.verdict = Verdict::weak;
    check.found += ", which this user may not open";
    // Deliberately no command: whoever is in that group is root.
    check.repair =
        "# " + facts.name +
        "'s socket makes whoever may open it root; let the daemon, not yourself, have it";
  }
  return check;
}

HostCheck time_and_entropy(const HostFacts& facts) {
  HostCheck check{"time", Verdict::ok, Need::useful, "", "times in records and certificates; keys",
                  ""};
  check.found =
      std::string(facts.clock_is_synchronised ? "clock synchronised" : "clock not synchronised") +
      (facts.has_entropy ? ", random numbers ready" : ", random numbers not ready");
  if (!facts.clock_is_synchronised) {
    check.verdict = Verdict::weak;
    check.repair = "sudo timedatectl set-ntp true";
  }
  if (!facts.has_entropy) check.verdict = Verdict::missing;
  return check;
}

HostCheck state_directory(const HostFacts& facts) {
  HostCheck check{
      "state_directory", Verdict::ok,
      Need::useful,      facts.state_directory + ": " + in_words(facts.state_free_bytes) + " free",
      "atoll serve",     ""};
  if (!facts.may_write_state) {
    check.verdict = Verdict::missing;
    check.found += ", not writable for this user";
    check.repair = "export ATOLL_STATE=$HOME/.local/state/atoll   # or another directory of yours";
  } else if (facts.state_free_bytes < kLittleDisk ||
             (facts.state_free_inodes > 0 && facts.state_free_inodes < kFewInodes)) {
    check.verdict = Verdict::weak;
    check.found += ", " + std::to_string(facts.state_free_inodes) + " inodes";
    check.repair = "# make room there, or move it: atoll serve --state DIR";
  }
  return check;
}

HostCheck companion(const CompanionFacts& companion, const HostFacts& facts) {
  HostCheck check{companion.name,
                  Verdict::ok,
                  Need::required,
                  companion.path + " " + companion.version,
                  "every sandbox on this host",
                  ""};
  if (!companion.is_there) {
    check.verdict = Verdict::missing;
    check.found = companion.path.empty() ? "not found" : "not at " + companion.path;
    check.repair =
        "# install Atoll completely, or name the folder of its companions: export "
        "ATOLL_LIBEXEC=DIR";
  } else if (companion.version != facts.own_version) {
    check.verdict = Verdict::missing;
    check.found = companion.path + " is " +
                  (companion.version.empty() ? "of an unknown version" : companion.version) +
                  ", this is " + facts.own_version;
    check.repair =
        "# install both from one package, and restart the daemon: atoll down; atoll serve";
  }
  return check;
}

}  // namespace

std::string apparmor_repair(const std::string& launcher) {
  return "sudo tee /etc/apparmor.d/atoll-launcher >/dev/null <<'EOF'\n"
         "abi <abi/4.0>,\n"
         "include <tunables/global>\n"
         "profile atoll-launcher " +
         launcher +
         " flags=(unconfined) {\n"
         "  userns,\n"
         "  include if exists <local/atoll-launcher>\n"
         "}\n"
         "EOF\n"
         "sudo apparmor_parser -r /etc/apparmor.d/atoll-launcher";
}

std::vector<HostCheck> judge_host(const HostFacts& facts) {
  std::vector<HostCheck> checks{
      kernel(facts),          surroundings(facts),     cgroups(facts),
      user_namespaces(facts), security_modules(facts), landlock(facts),
      seccomp(facts),         overlay(facts),          owner_mapping(facts),
      storage_pool(facts),    memory(facts),           processes(facts),
      file_watches(facts),    time_and_entropy(facts), state_directory(facts)};
  for (const auto& one : facts.companions) checks.push_back(companion(one, facts));
  checks.push_back(kvm(facts));
  for (const auto& one : facts.engines) checks.push_back(engine(one, facts.user));
  return checks;
}

}  // namespace atl::native
