//! The same tests in a kernel with sched_ext: this program boots it, with itself and fairways
//! inside.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_kernel_lab::{Guest, Kernel, Topology, required};

use super::chip::{self, MADE};
use super::daemon::{Place, SCHEDULER};

/// The tests that run there with a scheduler in the kernel.
const UNDER_IT: [&str; 5] = [
    "doctor::doctor_says_by_what_threads_take_turns",
    "casc::casc_decides_on_this_machine_as_on_a_chip_that_counts_the_same",
    "cache_fair::fair_miss_rates_are_those_of_a_chip_that_counts_the_same",
    "left::every_thread_is_as_before_once_the_daemon_has_ended",
    "left::a_scheduler_that_the_kernel_has_ended_returns",
];

/// The tests that run there on two CPUs, the number that their profiles are made for.
const ON_TWO: [&str; 1] =
    ["cache_fair::a_program_behind_its_fair_cpi_gets_time_of_background_work"];

/// The tests that run there by affinity.
const WITHOUT: [&str; 1] = ["left::every_thread_is_as_before_once_the_daemon_has_ended"];

const CPUS: u32 = 4;

/// An instruction of any CPU takes 2^this ns.
const SHIFT: u8 = 1;

/// Time passes by instructions there: when the daemon notices something does not depend on this
/// machine's other load.
#[test]
fn policies_schedule_in_a_kernel_with_sched_ext() {
    const TEST: &str = "policies_schedule_in_a_kernel_with_sched_ext";
    let Some(lab) = required(TEST, Kernel::Sid) else { return };
    fairways_needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let (tests, daemon) =
        (std::env::current_exe().unwrap(), assert_cmd::cargo::cargo_bin("fairways"));
    for policy in ["casc", "cache-fair"] {
        chip::simulate(&Place::new(), policy, CPUS as usize, &folder.path().join(policy));
    }
    let run = |scheduler: &str, tests: &[&str]| {
        let tests = tests.join(" ");
        format!(
            "{SCHEDULER}={scheduler} /scheduling {tests} --exact --nocapture --test-threads 1 2>&1"
        )
    };
    let jobs = [run("sched_ext", &UNDER_IT), run("affinity", &WITHOUT), run("sched_ext", &ON_TWO)];
    let [under_it, without, on_two] = jobs;
    let job = format!(
        "export {MADE}=/chips\n\
         export CARGO_BIN_EXE_fairways=/bin/first FAIRWAYS_REQUIRE_SYSTEM=1 RUST_BACKTRACE=1\n\
         printf '#!/bin/sh\\nrenice -n -20 -p $$ > /dev/null\\nexec /usr/bin/fairways \"$@\"\\n' > /bin/first\n\
         chmod +x /bin/first\n\
         failed=0\n\
         {under_it} || failed=1\n\
         {without} || failed=1\n\
         for cpu in 2 3; do echo 0 > /sys/devices/system/cpu/cpu$cpu/online; done\n\
         {on_two} || failed=1\n\
         for cpu in 2 3; do echo 1 > /sys/devices/system/cpu/cpu$cpu/online; done\n\
         sh /systemd.sh 2>&1 || failed=1\n\
         exit $failed\n"
    );
    let guest = Guest::new()
        .file(stripped(&tests, folder.path()), "/scheduling")
        .file(stripped(&daemon, folder.path()), "/usr/bin/fairways")
        .file(folder.path().join("casc"), "/chips/casc")
        .file(folder.path().join("cache-fair"), "/chips/cache-fair")
        .text("/systemd.sh", include_str!("systemd.sh"));
    let guest = with_systemd(guest);
    let outcome = guest
        .topology(Topology { sockets: 1, cores: CPUS, threads: 1 })
        .time_by_instructions(SHIFT)
        .job(job)
        .seconds(3600)
        .echo(|line| drop(writeln!(std::io::stderr(), "{line}")), false)
        .run(&lab)
        .unwrap();
    eprintln!("{TEST}: the guest took {} s", outcome.duration.as_secs());
    assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
    assert!(outcome.console.iter().any(|line| line == "UNDER-SYSTEMD-HELD"), "the service");
    // No test was left out.
    let passed = outcome.console.iter().filter_map(|line| {
        let count = line.strip_prefix("test result: ok. ")?.split(' ').next()?;
        count.parse::<usize>().ok()
    });
    assert!(passed.eq([UNDER_IT.len(), WITHOUT.len(), ON_TWO.len()]), "some were left out");
}

/// This machine's systemd, with what it takes to start a service, and the packaged unit.
fn with_systemd(mut guest: Guest) -> Guest {
    for program in ["nsenter", "unshare"] {
        let found = fairways_needs::find(program).unwrap();
        guest = guest.file(found, format!("/usr/bin/{program}"));
    }
    for program in ["/lib/systemd/systemd", "/bin/systemctl"] {
        guest = guest.file(program, program);
    }
    for target in ["basic", "sysinit", "shutdown", "umount", "slices", "paths", "timers", "sockets"]
    {
        let unit = format!("/lib/systemd/system/{target}.target");
        guest = guest.file(&unit, &unit);
    }
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    for unit in ["fairways.service", "sys-fs-resctrl.mount"] {
        guest = guest.file(packaged.join(unit), format!("/lib/systemd/system/{unit}"));
    }
    for drop_in in ["scheduling.conf", "sched-ext.conf"] {
        guest = guest.file(packaged.join(drop_in), format!("/lib/systemd/drop-ins/{drop_in}"));
    }
    guest
}

/// A program without debug information: the guest unpacks it into memory.
fn stripped(program: &Path, folder: &Path) -> PathBuf {
    let stripped = folder.join(program.file_name().unwrap());
    let mut strip = Command::new("strip");
    match strip.arg("--strip-debug").arg(program).arg("-o").arg(&stripped).status() {
        Ok(status) if status.success() => stripped,
        _ => program.to_owned(),
    }
}
