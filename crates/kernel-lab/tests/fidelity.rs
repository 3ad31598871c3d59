//! Sequences of operations on a real kernel's resctrl, and on the emulator's: the answers are the same.
//!
//! Where there is no FUSE, the kernel is compared with the rules that the emulator obeys; so it is in
//! `writes_of_nothing`, since FUSE does not pass on a write of no bytes.
//!
//! A part runs by default; `FAIRWAYS_FIDELITY=1000 cargo test -p fairways-kernel-lab --test fidelity` makes it a thousand
//! sequences for each machine. `FAIRWAYS_FIDELITY_SEED` is the first seed; `FAIRWAYS_FIDELITY_KEEP` is a directory for steps and
//! transcripts.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::Write as _;

use fairways_emulator::{Emulator, Idle, Settings};
use fairways_kernel_lab::generate::{Grounds, sequence};
use fairways_kernel_lab::steps::{Errno, Files, Mounting, Placeholders, Rules, Step, parse, run};
use fairways_kernel_lab::{
    Cache, Guest, Kernel, Lab, Monitoring, Processor, Topology, Vendor, required,
};
use fairways_needs::Need;
use fairways_resctrl::platform::Platform;

/// Steps of a sequence, about.
const LENGTH: usize = 25;

/// Differences that are shown, of those that there are.
const SHOWN: usize = 6;

/// Steps before a difference that are shown with it.
const BEFORE: usize = 8;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect(variable))
}

/// What the kernel answers.
fn kernel(lab: &Lab, processor: &Processor, steps: &str, seconds: u64) -> String {
    let guest = Guest::new()
        .processor(processor.clone())
        .file(env!("CARGO_BIN_EXE_resctrl-steps"), "/bin/resctrl-steps")
        .text("/steps", steps)
        .job("resctrl-steps /steps > /tmp/transcript")
        .take("/tmp/transcript")
        .seconds(seconds);
    // Some kernels now and then panic under emulation, at any place; what they answer until then is the same.
    let outcome = guest.run(lab).or_else(|error| {
        let _ = writeln!(std::io::stderr(), "{error}; once more");
        guest.run(lab)
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.code, 0, "{:#?}", outcome.console);
    let transcript = outcome.file("/tmp/transcript").expect("a transcript");
    let seconds = outcome.duration.as_secs();
    let _ = writeln!(std::io::stderr(), "the kernel took {seconds} s with booting");
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

/// What the emulator answers, or the rules without it.
fn ours(test: &str, platform: Platform, steps: &[Step], mounted: bool) -> String {
    let begun = std::time::Instant::now();
    let mut transcript = Vec::new();
    if mounted && fairways_needs::has(test, &[Need::Fuse, Need::Root]) {
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
    let seconds = begun.elapsed().as_secs();
    let _ = writeln!(std::io::stderr(), "{test}: the emulator took {seconds} s");
    String::from_utf8(transcript).unwrap()
}

/// Blocks of lines: each begins with a step.
fn blocks(sequence: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in sequence.lines() {
        match blocks.last_mut() {
            Some(last) if !line.starts_with('>') => *last += &format!("\n{line}"),
            _ => blocks.push(line.into()),
        }
    }
    blocks
}

/// The first steps of each sequence that differ; none if all is the same.
fn compare(kernel: &str, ours: &str) -> Result<(), String> {
    let (theirs, ours): (Vec<_>, Vec<_>) =
        (kernel.split("\n# ").collect(), ours.split("\n# ").collect());
    assert_eq!(theirs.len(), ours.len(), "the kernel did not come to the end");
    let mut report = String::new();
    let mut differ = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let (theirs, ours) = (blocks(theirs), blocks(ours));
        let Some(at) = theirs.iter().zip(&ours).position(|(a, b)| a != b) else { continue };
        differ += 1;
        if differ > SHOWN {
            continue;
        }
        let _ = writeln!(report, "-- {}", theirs[0]);
        for block in &theirs[at.saturating_sub(BEFORE).max(1)..at] {
            let _ = writeln!(report, "{}", block.lines().take(3).collect::<Vec<_>>().join("   "));
        }
        let (theirs, ours): (Vec<_>, Vec<_>) =
            (theirs[at].lines().collect(), ours[at].lines().collect());
        let _ = writeln!(report, "{}", theirs[0]);
        for line in theirs.iter().filter(|line| !ours.contains(line)).take(8) {
            let _ = writeln!(report, "    kernel {line}");
        }
        for line in ours.iter().filter(|line| !theirs.contains(line)).take(8) {
            let _ = writeln!(report, "    ours   {line}");
        }
    }
    if differ == 0 { Ok(()) } else { Err(format!("{differ} sequences differ\n{report}")) }
}

struct Case {
    name: &'static str,
    kernel: Kernel,
    grounds: Grounds,
    platform: Platform,
    /// Whether the emulator is mounted; else its rules are asked.
    mounted: bool,
}

/// Runs seeded sequences on both.
fn check(case: Case, by_default: u64) {
    let Some(lab) = required(case.name, case.kernel) else { return };
    let first = number("FAIRWAYS_FIDELITY_SEED").unwrap_or(0);
    let count = number("FAIRWAYS_FIDELITY").unwrap_or(by_default);
    let mut steps = Vec::new();
    for seed in first..first + count {
        steps.extend(sequence(&case.grounds, seed, LENGTH));
    }
    if case.mounted {
        steps.retain(|step| !matches!(step, Step::Write(_, text) if text.is_empty()));
    }
    let text: String = steps.iter().map(|step| format!("{step}\n")).collect();
    let keep = |side: &str, text: &str| {
        if let Some(directory) = std::env::var_os("FAIRWAYS_FIDELITY_KEEP") {
            let file = std::path::PathBuf::from(directory).join(format!("{}.{side}", case.name));
            std::fs::write(file, text).unwrap();
        }
    };
    keep("steps", &text);
    let ours = ours(case.name, case.platform, &steps, case.mounted);
    keep("ours", &ours);
    let theirs = kernel(
        &lab,
        &case.grounds.processor,
        &text,
        120 + count * 5 / 4 + if case.grounds.few_rmids { count * 4 } else { 0 },
    );
    keep("kernel", &theirs);
    let lines = theirs.lines().count();
    let _ = writeln!(
        std::io::stderr(),
        "{}: {count} sequences, {} steps, {lines} lines",
        case.name,
        steps.len()
    );
    if let Err(report) = compare(&theirs, &ours) {
        panic!("{}, {count} sequences on {}: {report}", case.name, lab.version());
    }
}

/// So many RMIDs that it does not matter when they are clean.
const MANY: u32 = 4096;

fn processor(rmids: u32) -> Processor {
    let monitoring = Some(Monitoring { rmids, ..Monitoring::default() });
    Processor { monitoring, ..Processor::default() }
}

fn platform(rmids: u32) -> Platform {
    Platform::lab().with_rmids(rmids)
}

const OPTIONS: [&str; 8] = ["", "", "", "cdp", "debug", "mba_MBps", "cdp,debug", "mba_MBps,debug"];

/// The lab's machine with many RMIDs.
fn case(name: &'static str) -> Case {
    Case {
        name,
        kernel: Kernel::Sid,
        grounds: Grounds {
            processor: processor(MANY),
            options: OPTIONS.to_vec(),
            few_rmids: false,
            plug: false,
        },
        platform: platform(MANY),
        mounted: true,
    }
}

/// What has long been known to happen, step by step.
#[test]
fn known_steps() {
    let name = "known_steps";
    let Some(lab) = required(name, Kernel::Sid) else { return };
    let text = include_str!("steps/known");
    let theirs = kernel(&lab, &Processor::default(), text, 120);
    let ours = ours(name, Platform::lab(), &parse(text).unwrap(), true);
    if let Err(report) = compare(&theirs, &ours) {
        panic!("{name} on {}: {report}", lab.version());
    }
}

#[test]
fn random_sequences() {
    check(case("random_sequences"), 60);
}

#[test]
fn writes_of_nothing() {
    let mut case = case("writes_of_nothing");
    case.mounted = false;
    check(case, 20);
}

#[test]
fn cpus_come_and_go() {
    let mut case = case("cpus_come_and_go");
    case.grounds.plug = true;
    check(case, 20);
}

#[test]
fn ids_run_out() {
    let mut case = case("ids_run_out");
    case.grounds.processor = processor(12);
    case.grounds.few_rmids = true;
    case.platform = platform(12);
    check(case, 8);
}

#[test]
fn sparse_masks_of_twenty_ways() {
    let mut case = case("sparse_masks_of_twenty_ways");
    let l3 = Cache { bits: 20, shareable: 0xc_0000, closids: 6, cdp: true, sparse: true };
    case.grounds.processor.l3 = Some(l3);
    case.platform = case.platform.with_ways(20, 0xc_0000).with_sparse_masks(true);
    case.platform.l3.as_mut().unwrap().closids = 6;
    check(case, 20);
}

#[test]
fn amd() {
    let mut case = case("amd");
    case.grounds.processor.vendor = Vendor::Amd;
    // To the kernel, each of this processor's cores has an L3 of its own.
    let zen = Platform::zen().with_rmids(MANY).with_domains(4, 1).with_ways(12, 0xc00);
    case.platform = zen.with_closids(8).with_llc_bytes(16 << 20);
    // Linux takes the size of the L2 for the limit of max_threshold_occupancy here.
    case.platform.llc_bytes = 512 << 10;
    case.platform.l2 = None;
    case.platform.smba = None;
    if let Some(monitoring) = &mut case.platform.monitoring {
        (monitoring.configurable, monitoring.scale_bytes) = (None, 65536);
    }
    if let Some(mb) = &mut case.platform.mb {
        mb.max = 2048;
    }
    case.grounds.processor.topology = Topology { sockets: 2, cores: 2, threads: 1 };
    check(case, 20);
}

#[test]
fn debian_13_s_kernel() {
    let mut case = case("debian_13_s_kernel");
    case.kernel = Kernel::Trixie;
    case.platform = case.platform.with_kernel(fairways_resctrl::platform::Kernel::v6_12());
    check(case, 20);
}

#[test]
fn debian_12_s_kernel() {
    let mut case = case("debian_12_s_kernel");
    case.kernel = Kernel::Bookworm;
    case.grounds.options = vec!["", "", "cdp", "mba_MBps"];
    case.platform = case.platform.with_kernel(fairways_resctrl::platform::Kernel::v6_1());
    check(case, 20);
}
