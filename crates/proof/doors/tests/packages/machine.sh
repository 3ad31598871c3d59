#!/bin/bash
# Boots systemd on a copy of this machine's files: its changes to files, processes, mounts, cgroups
# and networks end with it, and it may not change what all machines of a kernel share. Ends with 77,
# and prints the reason, where the kernel withholds what that takes.
#
# usage: machine.sh FOLDER PACKAGES CGROUP LOST, where LOST are the capabilities it loses:
# -sys_time,...
#
# In FOLDER it makes `machine`, a folder on which only it sees a file system, and the empty file
# `cgroup` once CGROUP exists.
set -e
folder=$1 packages=$2 cgroup=$3 lost=$4
withheld() { echo "$1 is refused" >&2; exit 77; }
may() { "$@" || withheld "$*"; }
namespaces=(--mount --pid --fork --uts --ipc --net --kill-child)

if [[ $5 != inside ]]; then
    may setpriv --bounding-set="$lost" true
    may unshare "${namespaces[@]}" true
    mkdir "$folder/machine"
    exec setpriv --bounding-set="$lost" unshare "${namespaces[@]}" bash "$0" "$folder" "$packages" "$cgroup" "$lost" inside
fi

may mount -t tmpfs tmpfs "$folder/machine"
mkdir "$folder"/machine/{upper,work,root,cgroups}
# The part of the cgroup hierarchy that this machine sees.
may mount -t cgroup2 cgroup2 "$folder/machine/cgroups"
may mkdir "$folder/machine/cgroups/$cgroup"
touch "$folder/cgroup"
echo 0 > "$folder/machine/cgroups/$cgroup/cgroup.procs" || withheld 'moving a process into a cgroup'
umount "$folder/machine/cgroups"

inside() {
    local root=$1/machine/root
    may mount -t overlay overlay -o "lowerdir=/,upperdir=$1/machine/upper,workdir=$1/machine/work" "$root"
    cd "$root"
    may mount -t proc proc proc
    # It may not set what all machines of a kernel share.
    may mount --bind proc/sys proc/sys
    may mount -o remount,bind,ro proc/sys
    may mount --bind /sys sys
    may mount -o remount,bind,ro sys
    may mount -t tmpfs tmpfs sys/fs
    mkdir sys/fs/cgroup sys/fs/resctrl
    may mount -t cgroup2 cgroup2 sys/fs/cgroup
    for fresh in run tmp dev; do may mount -t tmpfs -o mode=755 tmpfs "$fresh"; done
    chmod 1777 tmp
    for device in null zero full random urandom tty fuse; do
        touch "dev/$device"
        may mount --bind "/dev/$device" "dev/$device"
    done
    mkdir dev/pts dev/shm mnt/packages
    may mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
    ln -s pts/ptmx dev/ptmx
    may mount --bind "$2" mnt/packages
    echo 0123456789abcdef0123456789abcdef > etc/machine-id
    # Images of containers forbid packages to start and stop services.
    rm -f usr/sbin/policy-rc.d
    # What this machine's administrator has enabled, mounts or sets is not run here, nor timers; nor
    # is an index of manual pages made, which takes long. The folders stay, as they do where
    # something else is enabled.
    rm -rf etc/systemd/system/*.wants etc/systemd/system/*.requires etc/systemd/system/*.upholds etc/modules-load.d etc/sysctl.d
    rm -rf etc/fstab etc/crypttab var/lib/man-db/auto-update
    mkdir etc/systemd/system/{multi-user,sysinit}.target.wants
    touch etc/systemd/system/{multi-user,sysinit}.target.wants/.kept
    for unit in systemd-binfmt.service systemd-modules-load.service systemd-sysctl.service systemd-repart.service systemd-udevd.service \
        proc-sys-fs-binfmt_misc.{automount,mount} sys-kernel-{config,debug,tracing}.mount sys-fs-fuse-connections.mount; do
        ln -sf /dev/null "etc/systemd/system/$unit"
    done
    # The files that a daemon has left on the host do not belong to this machine.
    rm -rf etc/fairways var/lib/fairways
    # Systems with rpm have these.
    mkdir -p usr/share/licenses usr/share/zsh/site-functions
    printf '[Unit]\nRequires=basic.target dbus.service\nAfter=basic.target dbus.service\n' > etc/systemd/system/packages.target
    exec chroot . env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        /lib/systemd/systemd --unit=packages.target --show-status=0
}
export -f inside may withheld
may unshare --cgroup --mount true
exec unshare --cgroup --mount bash -ec 'inside "$@"' inside "$folder" "$packages"
