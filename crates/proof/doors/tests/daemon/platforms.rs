//! The platforms of the emulator: on each of them, a daemon gives programs ways of the cache, and
//! puts everything back. `FAIRWAYS_PLATFORM` runs all other tests of this suite on one of them.

use fairways_resctrl_rules::platform::Platform;
use rustix::process::Signal;

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

#[test]
fn every_platform_is_managed_and_put_back() {
    if !can(&[]) {
        return;
    }
    for platform in Platform::all() {
        manages(platform.name);
    }
}

fn manages(platform: &str) {
    let machine = Machine::by_clock("paced", "mlr:500K,mload:60M", &["--platform", platform]);
    let before = machine.snapshot(&[]);
    let select =
        ["mlr:500K", "mload:60M"].map(|name| format!("select = \"pid:{}\"", machine.pids[name]));
    let named = [("reads", select[0].as_str()), ("streams", select[1].as_str())];
    configure(&machine, "policy = \"equal\"", &named);
    let daemon = Daemon::start(&machine, command(&machine));
    let line = if platform.ends_with("l2") { "L2:" } else { "L3:" };
    eventually(&format!("{platform}: each program has ways of its own"), || {
        let groups = machine.snapshot(&[]);
        let ours = groups.iter().filter(|(file, _)| file.starts_with("fairways."));
        let mut lines: Vec<&str> = Vec::new();
        for (_, text) in ours.filter(|(file, _)| file.ends_with("/schemata")) {
            lines.extend(text.lines().map(str::trim).filter(|text| text.starts_with(line)));
        }
        lines.sort_unstable();
        lines.dedup();
        lines.len() == 2
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0), "{platform}");
    assert_eq!(machine.snapshot(&[]), before, "{platform}");
}
