mount -t resctrl -o debug resctrl $R || fail mount
start alpha f
start beta 3
start gamma c
start delta f

# Another manager's: a class with a mask and a task, CPUs, and monitoring groups.
mkdir $R/COS1 $R/COS1/mon_groups/theirs $R/mon_groups/someone
echo 'L3:0=f;1=300' > $R/COS1/schemata
echo 'MB:1=50' > $R/COS1/schemata
echo 8 > $R/COS1/cpus
for file in COS1/tasks COS1/mon_groups/theirs/tasks; do
    members | while read -r name process; do [ $name != delta ] || echo $process > $R/$file; done
done
picture before
everybody='--policy equal --counters none --program alpha=process:alpha --program beta=process:beta --program gamma=process:gamma
    --program delta=process:delta'

# Killed, and restored by the command; killed, and restored by the next start.
run $everybody --confine-others 2
settled 6
picture confined
stop KILL
picture killed
fairways restore > /tmp/said || fail restore
picture after_restore
run $everybody --confine-others 2
settled 6
stop KILL
run $everybody
settled 6
cp /tmp/log /tmp/again
picture again

# The other manager changes its own: a mask, a task, a group more, one less.
echo 'L3:0=3;1=3c0' > $R/COS1/schemata
wait_for "grep -q 'domain=0 ways=8' /tmp/log && grep -q 'domain=1 ways=6' /tmp/log"
quiet
picture theirs_changed
mkdir $R/COS2
echo 'L3:0=300;1=f' > $R/COS2/schemata
echo $beta > $R/COS2/tasks
wait_for "grep -q 'domain=0 ways=6' /tmp/log && grep -q 'domain=1 ways=2' /tmp/log"
settled 5
picture theirs_more
rmdir $R/COS1
settled 7
picture theirs_less
stop TERM
picture after_term
rmdir $R/COS2
rmdir $R/mon_groups/someone

# Other managers have all classes, then all but two.
mkdir $R/one $R/two $R/three $R/four $R/five $R/six $R/seven
run --policy equal --counters none --program alpha=process:alpha
wait $daemon
echo "exhausted $?"
cp /tmp/log /tmp/pictures/exhausted
rmdir $R/six $R/seven
run $everybody
settled 8
picture two_classes
stop TERM
rmdir $R/one $R/two $R/three $R/four $R/five

# resctrl is unmounted under the daemon.
run --policy equal --counters none --program alpha=process:alpha
settled 2
picture mounted
umount -l $R
wait $daemon
echo "unmounted $?"
cp /tmp/log /tmp/pictures/unmounted
wait_for "mount -t resctrl -o debug,cdp resctrl $R"

# Code and data apart; then a policy that knows programs by their profiles, and changes its plans to
# measure them.
start triad 3
start hash-join 3
everybody='--program alpha=process:alpha --program triad=process:triad --program hash-join=process:hash-join'
run --policy equal --counters none $everybody
settled 6
picture cdp
stop TERM
run --policy lfoc --counters profiles $everybody
settled 6
wait_for "grep -q 'sensitive ones own ways' /tmp/log"
quiet
picture lfoc
stop TERM
picture after_cdp
done_well
