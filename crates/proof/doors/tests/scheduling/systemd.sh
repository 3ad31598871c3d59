# Boots systemd as process 1 of a PID namespace of the guest, with the packaged unit and its drop-ins,
# and checks that the service has its scheduler in the kernel, with all that the unit forbids.
root=/machine
mkdir $root
mount -t tmpfs tmpfs $root
for folder in bin sbin lib lib64 usr; do [ ! -e /$folder ] || cp -a /$folder $root/; done
for folder in etc/fairways proc sys dev run tmp var/tmp var/lib root home; do mkdir -p $root/$folder; done
mount --rbind /dev $root/dev
mount --rbind /sys $root/sys
mount -t tmpfs tmpfs $root/run
mount -t tmpfs tmpfs $root/tmp
echo 0123456789abcdef0123456789abcdef > $root/etc/machine-id
echo root:x:0:0:root:/root:/bin/sh > $root/etc/passwd
echo root:x:0: > $root/etc/group
units=$root/etc/systemd/system
mkdir -p $units
mv $root/lib/systemd/drop-ins $units/fairways.service.d
printf '[Unit]\nDefaultDependencies=no\n' > $units/lab.target
printf '[Service]\nExecStart=/bin/sh -c "while :; do :; done"\n' > $units/spin.service
printf '[Service]\nTimeoutStartSec=600\n' > $units/fairways.service.d/slow.conf
printf 'policy = "casc"\n[counters]\nsource = "none"\n[[program]]\nname = "spin"\nselect = "unit:spin.service"\n' \
    > $root/etc/fairways/fairways.toml

inside='mount -t proc proc /machine/proc
exec chroot /machine env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --unit=lab.target --log-target=console --log-level=notice --show-status=0'
unshare --pid --mount --fork sh -c "$inside" &
within() { nsenter -t "$first" --mount --pid chroot $root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 2
    first=$(pidof systemd)
    [ -z "$first" ] || ! within systemctl start spin.service || break
done

failed=0
within systemctl start fairways.service || failed=1
within fairways status | head -n 3
status=$(within fairways status --json)
case $status in *'"scheduler":"sched_ext"'*) ;; *) failed=1 ;; esac
# CAP_NET_ADMIN, CAP_SYS_NICE, CAP_PERFMON and CAP_BPF, and no others.
pid=$(within systemctl show --property=MainPID --value fairways.service)
held=$(within cat /proc/$pid/status | grep -E '^(CapBnd:	000000c000801000|NoNewPrivs:	1|Seccomp:	2)$')
echo "$held"
[ "$(echo "$held" | wc -l)" = 3 ] || failed=1
under=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    spins=$(within systemctl show --property=MainPID --value spin.service)
    ! within cat /proc/$spins/sched | grep -q 'ext.enabled.*1$' || under=1
    [ $under = 0 ] || break
    sleep 1
done
[ $under = 1 ] || failed=1
within systemctl stop fairways.service || failed=1
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || failed=1
[ $failed = 0 ] && echo UNDER-SYSTEMD-HELD
exit $failed
