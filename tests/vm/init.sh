#!/bin/sh
# What the guest's kernel starts, in the initramfs: busybox is the shell and every tool.
#
#   atoll.mode=fill   /dev/vda is an empty ext4 and /dev/vdb a tar: unpack, say so on the console, power off
#   atoll.mode=run    /dev/vda is the root; /dev/vdb is a tar to unpack over it; then the root's own init
#
# vda is only ever changed for this one run: QEMU throws the changes away.

fail() {
  echo "init: $*"
  poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do
  insmod "/modules/$module" || fail "cannot load $module"
done </modules/list

mode=
for word in $(cat /proc/cmdline); do
  case $word in atoll.mode=*) mode=${word#*=} ;; esac
done

mount -t ext4 /dev/vda /root || fail "cannot mount the root disk"
tar -xf /dev/vdb -C /root || fail "cannot unpack the second disk"

if [ "$mode" = fill ]; then
  chroot /root /sbin/ldconfig || fail "ldconfig failed"
  umount /root || fail "cannot unmount"
  sync
  echo "init: filled"
  poweroff -f
fi

umount /proc
umount /sys
mount -o move /dev /root/dev
exec switch_root /root /usr/lib/atoll-guest/start
