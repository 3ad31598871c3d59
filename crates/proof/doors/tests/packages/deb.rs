//! The .deb, from its installation to its purge.

use super::machine::{Machine, can};
use super::shells;

#[test]
fn the_deb_is_installed_started_upgraded_removed_and_purged() {
    let programs = ["mandoc", "zsh", "fish"];
    if !can(&programs) {
        return;
    }
    let Some(machine) = Machine::boot() else { return };
    let before = machine.files();

    machine.run("dpkg --install /mnt/packages/now/*.deb");
    // After installation it neither runs nor is enabled, until its administrator enables it.
    assert_eq!(machine.output("systemctl is-enabled fairways").stdout, b"disabled\n");
    assert_eq!(machine.output("systemctl is-active fairways").stdout, b"inactive\n");
    assert_eq!(machine.run("fairways config check"), "ok\n");
    assert_eq!(machine.run("dpkg --verify fairways"), "");
    machine.run("systemd-analyze verify --man=yes fairways.service");
    // Nothing is mounted yet: not supported.
    machine.doctor_says(
        3,
        "Fairways cannot manage this host as it is.",
        "missing  mount: resctrl is not mounted",
    );
    shells::serve(&machine, "/usr/share/zsh/vendor-completions");

    machine.emulate();
    machine.doctor_says(
        0,
        "Fairways can manage this host.",
        "limited  mount: at /sys/fs/resctrl, by an emulator",
    );
    let whole = machine.run("cat /sys/fs/resctrl/schemata");
    machine.run("echo '# ours' >> /etc/fairways/fairways.toml");
    machine.run(
        "printf 'policy = \"equal\"\\n[journal]\\nfile = \"/var/log/fairways/run.journal\"\\n[counters]\\nsource = \"none\"\\n[[program]]\\nname = \"reads\"\\nselect = \"process:mlr*\"\\n\
         [[program]]\\nname = \"works\"\\nselect = \"process:lookbusy\"\\n' > /etc/fairways/fairways.toml.d/programs.toml",
    );
    // It returns when the daemon has reported that it is ready.
    machine.run("systemctl enable --now fairways && systemctl enable sys-fs-resctrl.mount");
    let shown = machine.properties("Type,ActiveState,StatusText,WatchdogUSec");
    let expected = [
        ("ActiveState", "active"),
        ("StatusText", "equal looks after this host"),
        ("Type", "notify"),
        ("WatchdogUSec", "30s"),
    ];
    assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    machine.eventually("fairways status | grep reads && ls -d /sys/fs/resctrl/fairways.1");
    // The unit lets it write its journal.
    machine.eventually("test -s /var/log/fairways/run.journal");
    let first = machine.properties("MainPID");

    machine.run("dpkg --install /mnt/packages/newer/*.deb");
    assert_eq!(machine.run("dpkg-query --show --showformat '${Version}' fairways"), "99.0");
    assert_eq!(machine.run("tail --lines 1 /etc/fairways/fairways.toml"), "# ours\n");
    assert_eq!(
        machine.run("systemctl is-enabled fairways; systemctl is-active fairways"),
        "enabled\nactive\n"
    );
    assert_ne!(machine.properties("MainPID"), first, "it was restarted");
    machine.eventually("fairways status | grep reads && ls -d /sys/fs/resctrl/fairways.*");

    machine.run("dpkg --remove fairways");
    assert_eq!(machine.run("find /sys/fs/resctrl -name 'fairways.*'"), "");
    assert_eq!(machine.run("cat /sys/fs/resctrl/schemata"), whole);
    machine.run("test ! -e /sys/fs/cgroup/system.slice/fairways.service");
    assert_eq!(machine.run("tail --lines 1 /etc/fairways/fairways.toml"), "# ours\n");

    // Installed again it is enabled as before. A daemon outside the service is not stopped, and its
    // ledger stays.
    machine.run("dpkg --install /mnt/packages/newer/*.deb");
    assert_eq!(
        machine.run("systemctl is-enabled fairways sys-fs-resctrl.mount"),
        "enabled\nenabled\n"
    );
    machine.run_by_hand();
    let said = machine.run("dpkg --purge fairways 2>&1");
    assert!(said.contains("another fairways manages this host"), "{said}");
    assert!(said.contains("fairways: not everything was put back"), "{said}");
    assert!(said.contains("fairways: /var/lib/fairways is left"), "{said}");
    machine.run("test -s /var/lib/fairways/resctrl.json && ls -d /sys/fs/resctrl/fairways.*");
    machine.run("systemctl stop by-hand");
    assert_eq!(machine.run("find /sys/fs/resctrl -name 'fairways.*'"), "");
    assert_eq!(machine.run("cat /sys/fs/resctrl/schemata"), whole);
    // Nor does purging remove a directory that a daemon has locked and in which nothing is to be
    // put back yet.
    machine.run("dpkg --install /mnt/packages/newer/*.deb");
    machine.run(
        "systemd-run --quiet --unit=idle --property=RuntimeDirectory=fairways \
         fairways run --policy equal --counters none --program none=process:nonesuch",
    );
    machine.eventually("fairways status");
    machine.run("test ! -e /var/lib/fairways/resctrl.json");
    let said = machine.run("dpkg --purge fairways 2>&1");
    assert!(said.contains("fairways: /var/lib/fairways is left"), "{said}");
    machine.run("systemctl stop idle");

    machine.run("dpkg --install /mnt/packages/newer/*.deb && dpkg --purge fairways");
    machine.run(
        "test ! -e /var/lib/fairways && test ! -e /var/log/fairways && test ! -e /etc/fairways",
    );

    machine.run("umount /sys/fs/resctrl; systemctl stop emulator || true");
    // The lab's package stands by itself, and leaves nothing.
    machine.run("fairways-lab policies && dpkg --purge fairways-lab");
    let after = machine.files();
    let [gone, left] =
        [before.difference(&after), after.difference(&before)].map(Iterator::collect);
    assert_eq!((gone, left), (Vec::<&String>::new(), Vec::<&String>::new()));
}
