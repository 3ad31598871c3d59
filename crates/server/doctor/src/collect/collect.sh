#!/bin/sh
# Copies what `fairways doctor` reads of this host into a new folder, or into a file FILE.tar:
#
#   sh collect.sh FOLDER [ROOT]
#
# Everything that is read stands below, under "The list". No file of a process is read, so that the
# copy has no command lines and no names of users. It has no host name and no address, and what
# others named (groups of resctrl, folders of mounts) is replaced by numbers. Nothing is changed
# but FOLDER. It takes a POSIX shell, awk, cat, grep and mkdir; gzip where there is
# /proc/config.gz; tar and rm for FILE.tar.
# ROOT is where the host's files are [default: /].
set -eu

to=${1:?expected a folder to make: sh collect.sh FOLDER}
root=${2:-}
root=${root%/}
tar=
case $to in *.tar) tar=$to to=$to.folder ;; esac
for name in "$to" ${tar:+"$tar"}; do
    if [ -e "$name" ]; then
        echo "collect: $name: expected a name that is free" >&2
        exit 2
    fi
done
mkdir "$to"

# Makes a file of the copy from standard input.
put() {
    mkdir -p "$to/${1%/*}"
    cat > "$to/$1"
}

# Copies the files that a pattern names. One that can't be read is left out.
take() {
    for file in "$root"/$1; do
        if text=$(cat "$file" 2>/dev/null); then
            printf '%s\n' "$text" | put "${file#"$root"/}"
        fi
    done
}

# Notes that a file is there, without its content.
note() {
    if [ -e "$root/$1" ]; then put "$1" < /dev/null; fi
}

# Copies the words of a file that match, if there are any.
words() {
    if text=$(grep -o -E "$2" "$root/$1" 2>/dev/null); then
        printf '%s\n' "$text" | put "$1"
    fi
}

# A group of resctrl, by its folder, and its name in the copy.
group() {
    for file in schemata mode size cpus_list; do
        if text=$(cat "$1/$file" 2>/dev/null); then
            printf '%s\n' "$text" | put "sys/fs/resctrl/$2$file"
        fi
    done
    mkdir -p "$to/sys/fs/resctrl/$2mon_groups"
    count=0
    for monitored in "$1"/mon_groups/*/; do
        [ -d "$monitored" ] || continue
        count=$((count + 1))
        mkdir "$to/sys/fs/resctrl/$2mon_groups/$(named "$monitored" "$count")"
    done
}

# A name in the copy: groups of Fairways keep theirs, but for the number.
named() {
    case $1 in */fairways.*) echo "fairways.$2" ;; *) echo "group$2" ;; esac
}

# The list.

# The processor. The flags are those of the first CPU.
if [ -r "$root/proc/cpuinfo" ]; then
    awk -F: '
        /^(processor|vendor_id|cpu family|model|model name|stepping)[ \t]*:/ { print }
        /^CPU (implementer|architecture|variant|part|revision)[ \t]*:/ { print }
        /^(flags|Features)[ \t]*:/ && !seen { print; seen = 1 }
    ' "$root/proc/cpuinfo" | put proc/cpuinfo
fi
take 'sys/devices/system/cpu/online'
take 'sys/devices/system/cpu/smt/active'
take 'sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id'
take 'sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/id'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/level'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/type'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/size'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/ways_of_associativity'
take 'sys/devices/system/cpu/cpu[0-9]*/cache/index*/shared_cpu_list'
take 'sys/devices/system/node/node[0-9]*/cpulist'
note 'sys/firmware/acpi/tables/MPAM'

# Whether this is a virtual machine: its maker, if it is a known one.
words 'sys/class/dmi/id/sys_vendor' 'QEMU|KVM|VMware|Xen|VirtualBox|innotek'
words 'sys/class/dmi/id/product_name' 'QEMU|KVM|VMware|Xen|VirtualBox|Virtual Machine'

# The kernel: its release, the options that Fairways uses, and what its command line turns off or on.
take 'proc/sys/kernel/osrelease'
options='^CONFIG_(X86_CPU_RESCTRL|X86_RESCTRL|RESCTRL|INTEL_RDT|ARM64_MPAM|CGROUPS|PERF_EVENTS'
options="$options|PROC_CPU_RESCTRL|PROC_EVENTS|SCHED_CLASS_EXT|SCHED_CACHE|DEBUG_INFO_BTF)="
release=$(cat "$root/proc/sys/kernel/osrelease" 2>/dev/null || :)
if [ -n "$release" ] && [ -r "$root/proc/config.gz" ]; then
    gzip -dc "$root/proc/config.gz" | grep -E "$options" | put "boot/config-$release" || :
elif [ -n "$release" ]; then
    words "boot/config-$release" "$options.*"
fi
take 'proc/filesystems'
words 'proc/cmdline' '(^| )(rdt=[^ ]*|arm64[.]nompam|split_llc=[^ ]*)'
if [ -r "$root/proc/cmdline" ] && [ ! -e "$to/proc/cmdline" ]; then note proc/cmdline; fi

# Counters and schedulers.
take 'proc/sys/kernel/perf_event_paranoid'
take 'proc/sys/kernel/nmi_watchdog'
take 'sys/bus/event_source/devices/*/type'
take 'sys/kernel/debug/sched/llc_balancing/enabled'
take 'sys/kernel/debug/sched/llc_balancing/aggr_tolerance'
# Which CPUs the scheduler takes to share a cache, without its counts.
words 'proc/schedstat' '^(cpu[0-9]+|domain[0-9]+ [A-Z]+ [0-9a-f,]+)'
take 'sys/kernel/sched_ext/state'
take 'sys/kernel/sched_ext/root/ops'
note 'sys/kernel/btf/vmlinux'

# Mounts of resctrl and of cgroups, without their places.
if [ -r "$root/proc/mounts" ]; then
    awk '
        function known(given,   all, count, i, kept) {
            count = split(given, all, ",")
            for (i = 1; i <= count; i++)
                if (all[i] ~ /^(rw|ro|cdp|cdpl2|mba_MBps|debug)$/) kept = kept "," all[i]
            return substr(kept, 2)
        }
        $3 == "resctrl" || $3 == "fuse.resctrl" && $2 == "/sys/fs/resctrl" {
            print "resctrl /sys/fs/resctrl " $3 " " known($4) " 0 0"
        }
        $3 == "cgroup" || $3 == "cgroup2" { print $3 " /sys/fs/cgroup " $3 " rw 0 0" }
    ' "$root/proc/mounts" | put proc/mounts
    resctrl=$(awk '
        $3 == "resctrl" { of_kernel = $2 }
        $3 == "fuse.resctrl" && $2 == "/sys/fs/resctrl" { other = $2 }
        END { print of_kernel ? of_kernel : other }
    ' "$root/proc/mounts")
fi

# resctrl: what it offers, and its groups, under other names.
if [ -n "${resctrl:-}" ] && [ -d "$root$resctrl" ]; then
    for file in "$root$resctrl"/info/*/* "$root$resctrl"/info/*/event_configs/*/* \
        "$root$resctrl"/mon_data/*/* \
        "$root$resctrl"/mon_data/*/*/*; do
        if text=$(cat "$file" 2>/dev/null); then
            printf '%s\n' "$text" | put "sys/fs/resctrl/${file#"$root$resctrl"/}"
        fi
    done
    group "$root$resctrl" ''
    number=0
    for folder in "$root$resctrl"/*/; do
        case $folder in */info/ | */mon_data/ | */mon_groups/ | '*'/) continue ;; esac
        [ -d "$folder" ] || continue
        number=$((number + 1))
        group "${folder%/}" "$(named "$folder" "$number")/"
    done
fi

# What the copy is, and the files in it.
echo 'fairways collect 1' | put ./collected
if [ -n "$tar" ]; then
    tar -cf "$tar" -C "$to" .
    rm -r "$to"
    echo "$tar"
else
    echo "$to"
fi
