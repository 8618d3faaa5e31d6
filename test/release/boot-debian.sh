#!/bin/sh
# Boots the Debian in a folder, without changing it: all writes go to another folder. The first
# process of new process, mount, name and IPC namespaces runs this; the network stays.
# Called as: boot-debian.sh <Debian> <folder for writes> <folder that both see>
set -eu
debian=$1 place=$2 shared=$3
mkdir -p "$place/upper" "$place/work" "$place/merged"
mount --make-rprivate /
mount -t overlay overlay \
  -o "lowerdir=$debian,upperdir=$place/upper,workdir=$place/work" "$place/merged"
mkdir -p "$place/merged$shared"
mount --bind "$shared" "$place/merged$shared"
cd "$place/merged"
mount -t proc -o nosuid,nodev,noexec proc proc
# The kernel's settings belong to the machine outside.
for one in proc/sys proc/sysrq-trigger; do
  [ -e "$one" ] || continue
  mount --bind "$one" "$one"
  mount -o remount,bind,ro,nosuid,nodev,noexec "$one"
done
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
mount -t tmpfs -o mode=755,nosuid tmpfs dev
for one in null zero full random urandom tty; do
  touch "dev/$one"
  mount --bind "/dev/$one" "dev/$one"
done
mkdir dev/pts dev/shm run/before
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
# A whole system: services may start, and installs keep manuals. It need not survive a crash.
rm -f usr/sbin/policy-rc.d
echo force-unsafe-io >etc/dpkg/dpkg.cfg.d/small
: >etc/machine-id
pivot_root . run/before
umount -l /run/before
# systemd expects this of a machine: one process mounts credentials for another.
mount --make-rshared /
exec env -i container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
  /usr/lib/systemd/systemd
