#!/bin/busybox sh
# The first process of the guest: mounts what a running system has, runs /job.sh, hands out the files
# that were asked for, ends the machine.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /tmp /run /root /var
mount -t devpts devpts /dev/pts
for at in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $at; done
mkdir -p /run/lock && ln -s /run /var/run && ln -s /run/lock /var/lock
mount -t bpf bpf /sys/fs/bpf 2> /dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2> /dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null
mount -t debugfs debugfs /sys/kernel/debug 2> /dev/null
ip link set lo up
echo "KERNEL-LAB-UP $(uname -r)"
cd /root
sh /job.sh
code=$?
echo
while read -r file; do
    [ -f "$file" ] || continue
    echo "KERNEL-LAB-FILE $file"
    gzip -c "$file" | base64
    echo KERNEL-LAB-FILE-END
done < /taken-out
echo "KERNEL-LAB-EXIT $code"
sync
poweroff -f
