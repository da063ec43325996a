#!/usr/bin/busybox sh
# The guest's first process on its real root: makes it a Debian box that has booted, then starts the agent.
# atoll.cgroups=v2|v1|hybrid|none on the kernel's command line says how the control groups are mounted.
# Busybox, whose tools need no exec of their own: QEMU translates every new program anew, which takes its time.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
STRICT=nosuid,nodev,noexec

mount -t proc -o $STRICT proc /proc
# It mounts everything itself, and starts the agent by its unit.
case " $(cat /proc/cmdline) " in
  *" atoll.init=systemd "*) exec /usr/lib/systemd/systemd systemd.unit=multi-user.target ;;
esac
mount -t sysfs -o $STRICT sysfs /sys
mkdir -p /dev/pts /dev/shm /dev/mqueue
mount -t devpts -o nosuid,noexec,gid=5,mode=620,ptmxmode=000 devpts /dev/pts
mount -t tmpfs -o nosuid,nodev tmpfs /dev/shm
mount -t mqueue -o $STRICT mqueue /dev/mqueue
mount -t tmpfs -o nosuid,nodev,mode=755,size=20% tmpfs /run
mount -t securityfs -o $STRICT securityfs /sys/kernel/security
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
mkdir -p /run/lock /run/user/1000
chmod 1777 /run/lock
chmod 700 /run/user/1000
chown user:user /run/user/1000
ip link set lo up
# As on a box with systemd: mounts spread into new namespaces, and back, unless someone says otherwise.
mount --make-rshared /
hostname guest

enable_all() {
  for name in $(cat "$1/cgroup.controllers"); do
    echo "+$name" >"$1/cgroup.subtree_control"
  done
}

# As systemd would have it: no process of ours sits in the root; a user owns the slice above his session.
cgroup_v2() {
  mount -t cgroup2 -o $STRICT,nsdelegate cgroup2 /sys/fs/cgroup
  cd /sys/fs/cgroup || return
  mkdir -p system.slice/guest.service user.slice/user-1000.slice/session.scope
  enable_all .
  enable_all system.slice
  enable_all user.slice
  cd user.slice/user-1000.slice || return
  enable_all .
  chown user:user . cgroup.procs cgroup.threads cgroup.subtree_control session.scope session.scope/cgroup.*
  echo $$ >/sys/fs/cgroup/system.slice/guest.service/cgroup.procs
  cd /
}

cgroup_v1() {
  mount -t tmpfs -o $STRICT,mode=755 tmpfs /sys/fs/cgroup
  for set in cpu,cpuacct cpuset memory pids devices freezer blkio net_cls,net_prio perf_event hugetlb; do
    mkdir "/sys/fs/cgroup/$set"
    mount -t cgroup -o "$STRICT,$set" cgroup "/sys/fs/cgroup/$set"
  done
  for name in cpu cpuacct; do ln -s cpu,cpuacct "/sys/fs/cgroup/$name"; done
  for name in net_cls net_prio; do ln -s net_cls,net_prio "/sys/fs/cgroup/$name"; done
  mkdir /sys/fs/cgroup/systemd
  mount -t cgroup -o $STRICT,none,name=systemd cgroup /sys/fs/cgroup/systemd
}

case " $(cat /proc/cmdline) " in
  *" atoll.cgroups=v2 "*) cgroup_v2 ;;
  *" atoll.cgroups=v1 "*) cgroup_v1 ;;
  *" atoll.cgroups=hybrid "*)
    cgroup_v1
    mkdir /sys/fs/cgroup/unified
    mount -t cgroup2 -o $STRICT,nsdelegate cgroup2 /sys/fs/cgroup/unified
    ;;
esac

# As systemd has it: 4096, the kernel's own, would be the end of every attack on descriptors that a sandbox must stop.
ulimit -Hn 524288

# Reaps what loses its parent, and starts the agent (/etc/inittab).
exec busybox init
