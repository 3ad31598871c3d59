# The beginning of every job: programs, the daemon, and pictures of resctrl.
R=/sys/fs/resctrl
mkdir -p /tmp/pictures /var/lib
: > /tmp/log

fail() {
    echo "failed: $*"
    tail -n 30 /tmp/log
    exit 1
}

# A CPU that comes up late in emulation stays away.
[ $(cat /sys/devices/system/cpu/online) = 0-3 ] || fail "CPUs $(cat /sys/devices/system/cpu/online)"

# Starts a sleeper of this name, a shell with a child, in a session of its own: NAME CPUS.
start() {
    if [ ! -e /bin/$1 ]; then
        printf '#!/bin/sh\nwhile :; do sleep 1000; done\n' > /bin/$1
        chmod +x /bin/$1
    fi
    session $1 taskset $2 $1
    wait_for "[ \$(members | grep -c '^$1 ') = 2 ]"
}

# Starts a command in a session of its own, whose number is in $NAME: NAME COMMAND...
session() {
    as=$1
    shift
    setsid "$@" < /dev/null > /dev/null 2>&1 &
    eval "$as=$!"
    sessions="$sessions $as=$!"
}

# The processes of all sessions that live: NAME PROCESS.
members() {
    # After the name, which is in brackets: state, parent, group, session. Awk would end at a
    # process that has gone by now.
    cat /proc/[0-9]*/stat 2> /dev/null | awk -v all="$sessions" '
        BEGIN { count = split(all, list, " "); for (i = 1; i <= count; i++) { split(list[i], of, "="); name[of[2]] = of[1] } }
        { process = $1; sub(/.*\) /, ""); if ($1 != "Z" && $4 in name) print name[$4], process }
    '
}

# Ends a session: NAME.
end() {
    wait_for has_ended $1
}

# Kills the rest of a session; succeeds if no process was left: NAME.
has_ended() {
    left=$(members | awk -v name=$1 '$1 == name { print $2 }')
    [ "$left" ] || return 0
    kill -9 $left
    return 1
}

# Waits until a command succeeds, for as long as a kernel in emulation may need on a busy machine.
wait_for() {
    end_at=$(($(cut -d. -f1 /proc/uptime) + 120))
    until eval "$*" > /dev/null 2>&1; do
        [ $(cut -d. -f1 /proc/uptime) -lt $end_at ] || fail "waited for: $*"
        usleep 100000
    done
}

# Starts the daemon: FLAGS... Its process id is in $daemon, and its log in /tmp/log.
run() {
    # The log of the daemon before does not count.
    : > /tmp/log
    fairways run --log stderr --control /run/control "$@" > /tmp/said 2> /tmp/log &
    daemon=$!
}

# Waits until this number of tasks is in groups of ours, and the daemon has nothing more to log.
settled() {
    wait_for "grep -q 'program moved' /tmp/log"
    wait_for "[ \$(cat $R/fairways.*/tasks | wc -l) = $1 ]"
    quiet
}

quiet() {
    quiet=0
    end_at=$(($(cut -d. -f1 /proc/uptime) + 120))
    while [ $quiet -lt 30 ]; do
        [ $(cut -d. -f1 /proc/uptime) -lt $end_at ] || fail "the daemon has more to say all the time"
        size=$(wc -c < /tmp/log)
        usleep 100000
        if [ $size = $(wc -c < /tmp/log) ]; then quiet=$((quiet + 1)); else quiet=0; fi
    done
}

# Ends the daemon by a signal, and prints its exit code.
stop() {
    kill -$1 $daemon
    wait $daemon 2> /dev/null
    echo "ended $?"
}

# Draws all of resctrl's groups, the tasks of our programs, and the daemon's status: NAME. The
# change of a value that nothing else writes separates the register writes before it from those
# after it.
picture() {
    (
        cd $R || exit
        for group in . */; do
            group=${group%/}
            case $group in info | mon_data | mon_groups) continue ;; esac
            echo "$group:"
            grep -H '' $group/schemata $group/mode $group/cpus $group/ctrl_hw_id
            [ $group = . ] || grep -H '' $group/tasks
            for monitor in $group/mon_groups/*/; do
                [ -d "$monitor" ] && echo "${monitor%/}:" && grep -H '' ${monitor}tasks
            done
        done
    ) > /tmp/pictures/$1 2> /dev/null
    echo "MB:0=90" > $R/schemata
    echo "MB:0=100" > $R/schemata
    members | while read -r name process; do
        for task in /proc/$process/task/*; do [ -e $task ] && echo "program $name:${task##*/}"; done
    done >> /tmp/pictures/$1
    # Without a daemon there is no answer.
    if [ -S /run/control ] && kill -0 $daemon 2> /dev/null; then
        wait_for 'fairways status --control /run/control --json > /tmp/status'
        cat /tmp/status >> /tmp/pictures/$1
    fi
    cp /tmp/log /tmp/pictures/$1.log
    echo "picture $1 at $(cut -d' ' -f1 /proc/uptime)"
}

# Ends the job well, with all pictures in one file.
done_well() {
    for picture in /tmp/pictures/*; do
        echo "# ${picture##*/}"
        cat $picture
    done > /tmp/all
    exit 0
}
