//! Runs steps on a kernel, and on the emulator or by its rules.

use std::io::Write as _;

use fairways_emulator::{Emulator, Idle, Settings};
use fairways_kernel_lab::generate::{Grounds, sequence};
use fairways_kernel_lab::steps::{Errno, Files, Mounting, Placeholders, Rules, Step, run};
use fairways_kernel_lab::{Error, Guest, Kernel, Lab, Outcome, Processor, required};
use fairways_resctrl_rules::platform::Platform;
use fairways_testing::needs::Need;

use crate::compare::compare;

/// The approximate number of steps in a sequence.
const LENGTH: usize = 25;

/// The most boots of a guest that panics in the midst of its steps.
const BOOTS: u32 = 3;

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect(variable))
}

/// Past the capture of a test's output.
fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Some kernels now and then panic under emulation, or hang, at any place: only answers of one that
/// came to the end are compared.
fn run_to_the_end(guest: &Guest, lab: &Lab) -> Outcome {
    let mut boots = 1;
    loop {
        match guest.run(lab) {
            Err(error @ (Error::Died { .. } | Error::Timeout { .. })) if boots < BOOTS => {
                print(&format!("{}: {error}; once more", lab.version()));
                boots += 1;
            }
            outcome => return outcome.unwrap(),
        }
    }
}

/// The kernel's answers.
pub(crate) fn kernel(lab: &Lab, processor: &Processor, steps: &[Step], seconds: u64) -> String {
    let text: String = steps.iter().map(|step| format!("{step}\n")).collect();
    let guest = Guest::new()
        .processor(processor.clone())
        .file(env!("CARGO_BIN_EXE_resctrl-steps"), "/bin/resctrl-steps")
        .text("/steps", text)
        .job("resctrl-steps /steps > /tmp/transcript")
        .take("/tmp/transcript")
        .seconds(seconds);
    let outcome = run_to_the_end(&guest, lab);
    assert_eq!(outcome.code, 0, "{:#?}", outcome.console);
    let transcript = outcome.file("/tmp/transcript").expect("a transcript");
    print(&format!("{} took {} s with booting", lab.version(), outcome.duration.as_secs()));
    String::from_utf8(transcript.to_vec()).unwrap()
}

struct Emulated(Emulator);

impl Mounting for Emulated {
    fn mount(&mut self, options: &str) -> Result<(), Errno> {
        self.0.remount(options).map_err(|errno| Errno(errno.code()))
    }

    fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), Errno> {
        self.0.cpu(cpu, online).map_err(|_| Errno(22))
    }
}

/// The emulator's answers, or those of the rules without it.
pub(crate) fn ours(test: &str, platform: Platform, steps: &[Step], mounted: bool) -> String {
    let begun = std::time::Instant::now();
    let mut transcript = Vec::new();
    if mounted && fairways_testing::needs::has(test, &[Need::Fuse, Need::Root]) {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("resctrl");
        std::fs::create_dir(&dir).unwrap();
        let settings = Settings::new(platform, Box::new(Idle::default()));
        let emulator = Emulator::start(&dir, settings).unwrap();
        let tasks = Placeholders::start(env!("CARGO_BIN_EXE_resctrl-steps").as_ref()).unwrap();
        run(&mut Files::new(dir, Emulated(emulator), tasks), steps, &mut transcript).unwrap();
    } else {
        run(&mut Rules::new(platform), steps, &mut transcript).unwrap();
    }
    print(&format!("{test}: the emulator took {} s", begun.elapsed().as_secs()));
    String::from_utf8(transcript).unwrap()
}

/// A machine whose answers are compared.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kernel: Kernel,
    pub(crate) grounds: Grounds,
    /// The machine as the rules describe it; those of the kernel in use are taken.
    pub(crate) platform: Platform,
    /// Whether the emulator is mounted; otherwise its rules answer directly.
    pub(crate) mounted: bool,
}

impl Case {
    /// How long the kernel may take for that many sequences.
    fn seconds(&self, sequences: u64) -> u64 {
        120 + sequences * 5 / 4 + if self.grounds.few_rmids { sequences * 4 } else { 0 }
    }
}

/// Runs the same steps on both; `sequences` is their number of sequences.
pub(crate) fn ask(case: Case, lab: &Lab, steps: &[Step], sequences: u64) {
    let name = format!("{} on {}", case.name, lab.version());
    let keep = |side: &str, text: &str| {
        if let Some(directory) = std::env::var_os("FAIRWAYS_FIDELITY_KEEP") {
            let file = format!("{}.{:?}.{side}", case.name, case.kernel);
            std::fs::write(std::path::PathBuf::from(directory).join(file), text).unwrap();
        }
    };
    keep("steps", &steps.iter().map(|step| format!("{step}\n")).collect::<String>());
    let seconds = case.seconds(sequences);
    let ours = ours(&name, case.platform.with_kernel(lab.rules()), steps, case.mounted);
    keep("ours", &ours);
    let theirs = kernel(lab, &case.grounds.processor, steps, seconds);
    keep("kernel", &theirs);
    let lines = theirs.lines().count();
    print(&format!("{name}: {sequences} sequences, {} steps, {lines} lines", steps.len()));
    if let Err(report) = compare(&theirs, &ours) {
        panic!("{name}, {sequences} sequences: {report}");
    }
}

/// Runs seeded sequences on both.
pub(crate) fn check(mut case: Case, by_default: u64) {
    let Some(lab) = required(case.name, case.kernel) else { return };
    let debug = lab.rules().debug_option;
    case.grounds.options.retain(|options| debug || !options.contains("debug"));
    let first = number("FAIRWAYS_FIDELITY_SEED").unwrap_or(0);
    let count = number("FAIRWAYS_FIDELITY").unwrap_or(by_default);
    let mut steps = Vec::new();
    for seed in first..first + count {
        steps.extend(sequence(&case.grounds, seed, LENGTH));
    }
    if case.mounted {
        steps.retain(|step| !matches!(step, Step::Write(_, text) if text.is_empty()));
    }
    ask(case, &lab, &steps, count);
}

/// The same on each kernel; by default `on_sid` sequences on sid's, and `on_others` on the others.
pub(crate) fn check_on_each(case: &Case, on_sid: u64, on_others: u64) {
    for (kernel, by_default) in
        [(Kernel::Sid, on_sid), (Kernel::Trixie, on_others), (Kernel::Bookworm, on_others)]
    {
        check(Case { kernel, ..case.clone() }, by_default);
    }
}
