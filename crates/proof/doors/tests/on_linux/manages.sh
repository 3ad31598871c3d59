mount -t resctrl -o debug resctrl $R || fail mount
picture before

# Two domains with different residents, a program in both, and one with threads: another daemon,
# which changes nothing.
start alpha f
start beta 3
start gamma c
ln -s /usr/bin/fairways /bin/many
session many taskset 3 many run --observe --policy stock --counters none --program none=process:none \
    --state /tmp/many.state --control /run/many
wait_for '[ $(ls /proc/$many/task | wc -l) -gt 1 ]'
everybody='--program alpha=process:alpha --program beta=process:beta --program gamma=process:gamma --program many=process:many'
run --policy equal --counters none $everybody
settled 8
picture equal
stop TERM
picture after_term

# Two of them have different promises, and the policy gives the others another share.
end many
cat > /tmp/config.toml << 'END'
policy = "static"
counters.source = "none"
[[program]]
name = "alpha"
select = "process:alpha"
baseline_ways = 3
[[program]]
name = "beta"
select = "process:beta"
baseline_ways = 5
[[program]]
name = "gamma"
select = "process:gamma"
baseline_ways = 4
END
run --config /tmp/config.toml
settled 6
picture static

# The last CPU of a domain goes and returns.
echo 0 > /sys/devices/system/cpu/cpu2/online
echo 0 > /sys/devices/system/cpu/cpu3/online
wait_for "grep -q 'nothing of it is on offer' /tmp/log"
settled 6
picture offline
echo 1 > /sys/devices/system/cpu/cpu2/online
echo 1 > /sys/devices/system/cpu/cpu3/online
wait_for "[ \$(grep -c 'give out domain=1' /tmp/log) = 2 ]"
settled 6
picture online
stop INT
picture after_int

# A program that forks all the time, and whose children fork.
printf '#!/bin/sh\nwhile :; do (sleep 1; sleep 1) & sleep 0.1; done\n' > /bin/forks
chmod +x /bin/forks
session forks forks
run --policy equal --counters none --program alpha=process:alpha --program forks=process:forks
wait_for "grep -qx $forks $R/fairways.*/tasks"
quiet
for round in 1 2 3 4 5 6 7 8; do
    cat /proc/[0-9]*/stat 2> /dev/null | awk -v session=$forks '{
        process = $1
        sub(/.*\) /, "")
        at = "/proc/" process "/cpu_resctrl_groups"
        if ($4 == session && (getline group < at) > 0) print "fork", process, group
        close(at)
    }'
    usleep 300000
done
stop TERM
end forks
picture after_forks
done_well
