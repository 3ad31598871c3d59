//! The same tests in a kernel with sched_ext: this program boots it, with itself and fairways
//! inside.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_kernel_lab::{Guest, Kernel, Topology, required};

use super::chip::{self, MADE};
use super::daemon::{Place, SCHEDULER};

const CPUS: u32 = 4;

/// An instruction of any CPU takes 2^this ns. With 2, half as many are executed in a second of the
/// guest, but the daemon takes twice the part of it: CASC measured its threads after 38 s of the
/// guest instead of 16, and [`EVERY`] took 60 s instead of 23. It saves nothing, and leaves threads
/// little time.
const SHIFT: u8 = 1;

/// Daemons end under either mechanism.
const EVERY: &str = "left::every_thread_is_as_before_once_the_daemon_has_ended";

/// A test of this program, and where it runs in the guest.
struct Inner {
    test: &'static str,
    scheduler: &'static str,
    /// Those that it finds on line.
    cpus: u32,
}

impl Inner {
    const fn under_it(test: &'static str) -> Self {
        Self { test, scheduler: "sched_ext", cpus: CPUS }
    }

    /// The lines of the job that run it. Each test has its own process, whose last line names the
    /// seconds of the guest.
    fn job(&self) -> String {
        let Self { test, scheduler, cpus } = self;
        format!(
            "{}{SCHEDULER}={scheduler} /scheduling {test} --exact --nocapture --test-threads 1 2>&1 \
             || failed=1\n{}",
            set_online(*cpus, 0),
            set_online(*cpus, 1)
        )
    }
}

/// The lines of the job that let the CPUs from this one on come or go.
fn set_online(first: u32, value: u32) -> String {
    (first..CPUS)
        .map(|cpu| format!("echo {value} > /sys/devices/system/cpu/cpu{cpu}/online\n"))
        .collect()
}

/// Policies decide, and the kernel's scheduler carries out what they decide.
#[test]
fn policies_schedule_in_a_kernel_with_sched_ext() {
    let tests = [
        Inner::under_it("doctor::doctor_says_by_what_threads_take_turns"),
        Inner::under_it("casc::casc_decides_on_this_machine_as_on_a_chip_that_counts_the_same"),
        Inner::under_it("cache_fair::fair_miss_rates_are_those_of_a_chip_that_counts_the_same"),
        Inner {
            // The number of CPUs that its profiles are made for.
            cpus: 2,
            ..Inner::under_it(
                "cache_fair::a_program_behind_its_fair_cpi_gets_time_of_background_work",
            )
        },
    ];
    run("policies_schedule_in_a_kernel_with_sched_ext", &tests, "", with_chips);
}

/// Daemons end in every way, and the service runs under systemd.
#[test]
fn daemons_end_in_a_kernel_with_sched_ext() {
    let tests = [
        Inner::under_it(EVERY),
        Inner::under_it("left::a_scheduler_that_the_kernel_has_ended_returns"),
        Inner { scheduler: "affinity", ..Inner::under_it(EVERY) },
    ];
    // Last: what systemd leaves behind uses time that the other tests measure.
    let last = "sh /systemd.sh 2>&1 || failed=1\n";
    let console = run("daemons_end_in_a_kernel_with_sched_ext", &tests, last, with_systemd);
    let held = console.is_none_or(|lines| lines.iter().any(|line| line == "UNDER-SYSTEMD-HELD"));
    assert!(held, "the service");
}

/// Boots, and runs these tests one after the other, and then the rest of the job. Returns what the
/// guest printed, if it can be booted here.
///
/// Time passes by instructions there: when the daemon notices something does not depend on this
/// machine's other load.
fn run(
    name: &str,
    tests: &[Inner],
    rest: &str,
    with_files: fn(Guest, &Path) -> Guest,
) -> Option<Vec<String>> {
    let lab = required(name, Kernel::Sid)?;
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let (program, daemon) = (std::env::current_exe().unwrap(), fairways_doors::fairways());
    let jobs: String = tests.iter().map(Inner::job).collect();
    let job = format!(
        "export {MADE}=/chips\n\
         export CARGO_BIN_EXE_server_door=/bin/first FAIRWAYS_REQUIRE_SYSTEM=1 RUST_BACKTRACE=1\n\
         printf '#!/bin/sh\\nrenice -n -20 -p $$ > /dev/null\\nexec /usr/bin/fairways \"$@\"\\n' > /bin/first\n\
         chmod +x /bin/first\n\
         failed=0\n\
         {jobs}\
         {rest}\
         exit $failed\n"
    );
    let guest = Guest::new()
        .file(stripped(&program, folder.path()), "/scheduling")
        .file(stripped(&daemon, folder.path()), "/usr/bin/fairways");
    let outcome = with_files(guest, folder.path())
        .topology(Topology { sockets: 1, cores: CPUS, threads: 1 })
        .time_by_instructions(SHIFT)
        .job(job)
        .seconds(3600)
        .echo(|line| drop(writeln!(std::io::stderr(), "{line}")), false)
        .run(&lab)
        .unwrap();
    eprintln!("{name}: the guest took {} s", outcome.duration.as_secs());
    assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
    // No test was left out.
    let passed =
        outcome.console.iter().filter(|line| line.starts_with("test result: ok. 1 passed"));
    assert_eq!(passed.count(), tests.len(), "some were left out");
    Some(outcome.console)
}

/// What the policies decide on chips, which are simulated here: the guest takes too long.
fn with_chips(mut guest: Guest, folder: &Path) -> Guest {
    for policy in ["casc", "cache-fair"] {
        let journal = folder.join(policy);
        chip::simulate(&Place::new(), policy, CPUS as usize, &journal);
        guest = guest.file(journal, format!("/chips/{policy}"));
    }
    guest
}

/// This machine's systemd, with what it takes to start a service, and the packaged unit.
fn with_systemd(guest: Guest, _: &Path) -> Guest {
    let mut guest = guest.text("/systemd.sh", include_str!("systemd.sh"));
    for program in ["nsenter", "unshare"] {
        let found = fairways_testing::needs::find(program).unwrap();
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
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/systemd");
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
