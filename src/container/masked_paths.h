// What a container does not see of /proc and /sys: a file is empty there, and a directory has
// nothing in it.
#pragma once

#include <string_view>

namespace atl::container {

// The engines' own list, which an own one takes the place of, and what tells of the host and its
// kernel beyond it. Left are the processes, the sandbox's own limits (/sys/fs/cgroup) and what
// programs ask for memory and processors. What a kernel does not have is passed over.
constexpr std::string_view kMaskedPaths[] = {
    "/proc/acpi",       "/proc/asound",      "/proc/bus",         "/proc/config.gz",
    "/proc/driver",     "/proc/fs",          "/proc/interrupts",  "/proc/iomem",
    "/proc/ioports",    "/proc/irq",         "/proc/kallsyms",    "/proc/kcore",
    "/proc/key-users",  "/proc/keys",        "/proc/kmsg",        "/proc/latency_stats",
    "/proc/modules",    "/proc/partitions",  "/proc/sched_debug", "/proc/schedstat",
    "/proc/scsi",       "/proc/slabinfo",    "/proc/swaps",       "/proc/sysrq-trigger",
    "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo", "/proc/zoneinfo",
    "/sys/block",       "/sys/bus",          "/sys/class",        "/sys/dev",
    "/sys/devices",     "/sys/firmware",     "/sys/fs/bpf",       "/sys/fs/btrfs",
    "/sys/fs/ext4",     "/sys/fs/fuse",      "/sys/fs/pstore",    "/sys/fs/selinux",
    "/sys/fs/xfs",      "/sys/hypervisor",   "/sys/kernel",       "/sys/module",
    "/sys/power",
};

}  // namespace atl::container
