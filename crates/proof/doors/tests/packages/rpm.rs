//! The .rpm, from its installation to its removal.

use super::machine::{Machine, can};
use super::shells;

/// Uses the database of a machine without other packages: dependencies cannot be checked.
const RPM: &str = "rpm --dbpath /var/tmp/rpm";

#[test]
fn the_rpm_is_installed_started_upgraded_and_removed() {
    let programs = ["rpm", "mandoc", "zsh", "fish"];
    if !can(&programs) {
        return;
    }
    let Some(machine) = Machine::boot() else { return };
    let before = machine.files();

    machine.run(&format!("{RPM} --install --nodeps /mnt/packages/now/*.rpm"));
    assert_eq!(machine.output("systemctl is-enabled fairways").stdout, b"disabled\n");
    assert_eq!(machine.run("fairways config check"), "ok\n");
    assert_eq!(machine.run(&format!("{RPM} --verify --nodeps fairways")), "");
    machine.doctor_says(
        3,
        "Fairways cannot manage this host as it is.",
        "missing  mount: resctrl is not mounted",
    );
    shells::serve(&machine, "/usr/share/zsh/site-functions");

    machine.emulate();
    machine.doctor_says(
        0,
        "Fairways can manage this host.",
        "limited  mount: at /sys/fs/resctrl, by an emulator",
    );
    let whole = machine.run("cat /sys/fs/resctrl/schemata");
    machine.run(
        "printf 'policy = \"equal\"\\n[counters]\\nsource = \"none\"\\n[[program]]\\nname = \"reads\"\\nselect = \"process:mlr*\"\\n' \
         > /etc/fairways/fairways.toml",
    );
    machine.run("systemctl enable --now fairways");
    machine.eventually("ls -d /sys/fs/resctrl/fairways.*");
    let first = machine.properties("MainPID");

    machine.run(&format!("{RPM} --upgrade --nodeps /mnt/packages/newer/*.rpm"));
    assert_eq!(
        machine.run(&format!("{RPM} --query --queryformat '%{{VERSION}}' fairways")),
        "99.0"
    );
    assert!(machine.run("cat /etc/fairways/fairways.toml").contains("process:mlr*"));
    assert_eq!(
        machine.run("systemctl is-enabled fairways; systemctl is-active fairways"),
        "enabled\nactive\n"
    );
    assert_ne!(machine.properties("MainPID"), first);
    machine.run("systemctl enable sys-fs-resctrl.mount");

    // The service is stopped first. What the administrator has changed is kept aside.
    machine.run(&format!("{RPM} --erase fairways"));
    machine.run("test ! -e /var/lib/fairways");
    assert_eq!(machine.run("find /sys/fs/resctrl -name 'fairways.*'"), "");
    assert_eq!(machine.run("cat /sys/fs/resctrl/schemata"), whole);
    assert!(machine.run("cat /etc/fairways/fairways.toml.rpmsave").contains("process:mlr*"));

    // A daemon that runs outside the service is not stopped, and its ledger stays.
    let again = format!(
        "{RPM} --install --nodeps /mnt/packages/newer/fairways-99*.rpm && \
         mv /etc/fairways/fairways.toml.rpmsave /etc/fairways/fairways.toml"
    );
    machine.run(&again);
    machine.run_by_hand();
    let said = machine.run(&format!("{RPM} --erase fairways 2>&1"));
    assert!(said.contains("another fairways manages this host"), "{said}");
    assert!(said.contains("fairways: /var/lib/fairways is left"), "{said}");
    machine.run("test -s /var/lib/fairways/resctrl.json && ls -d /sys/fs/resctrl/fairways.*");

    // A daemon outside the service that was killed: removal puts back what it left.
    machine.run("systemctl kill --signal=KILL by-hand");
    machine.eventually("! systemctl is-active --quiet by-hand && ls -d /sys/fs/resctrl/fairways.*");
    machine.run(&again);
    machine.run(&format!("{RPM} --erase fairways"));
    machine.run("test ! -e /var/lib/fairways");
    assert_eq!(machine.run("find /sys/fs/resctrl -name 'fairways.*'"), "");
    assert_eq!(machine.run("cat /sys/fs/resctrl/schemata"), whole);
    machine.run(&format!("fairways-lab policies && {RPM} --erase fairways-lab"));
    machine.run("rm -r /etc/fairways; umount /sys/fs/resctrl; systemctl stop emulator || true");
    let after = machine.files();
    let [gone, left] =
        [before.difference(&after), after.difference(&before)].map(Iterator::collect);
    assert_eq!((gone, left), (Vec::<&String>::new(), Vec::<&String>::new()));
}
