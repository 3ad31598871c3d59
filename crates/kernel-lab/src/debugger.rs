//! gdb, which answers for the processor.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::processor::Leaf;
use crate::tools::dependent;
use crate::{Counters, Error, Lab, Processor};

/// What it says once it answers.
pub(crate) const READY: &str = "READY";

const CPU: &str = include_str!("../assets/cpu.py");

/// A write to a register of a class of service, as the kernel would have made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Whether it is of a mask (cache) or not (memory bandwidth).
    pub mask: bool,
    /// The register: 0xC90 and on for L3 masks, 0xD10 and on for L2, 0xD50 and on for Intel's
    /// bandwidths.
    pub number: u32,
    /// What was written; Intel's bandwidths are delays, 100 less the percentage.
    pub value: u64,
    /// The CPU that wrote.
    pub cpu: u32,
}

/// Starts gdb beside a machine that waits for it.
pub(crate) fn start(
    lab: &Lab,
    processor: &Processor,
    directory: &Path,
    stub: &Path,
    told: &Path,
) -> Result<Process, Error> {
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::file(&path)).map(|()| path)
    };
    let script = write("cpu.py", CPU.into())?;
    let answers = write("answers", leaves(&processor.answers()))?;
    let additions = write("additions", leaves(&processor.additions()))?;
    let counters = match processor.counters {
        Counters::Zero => "none".into(),
        Counters::Growing => "growing".into(),
        Counters::Fixed(units) => units.to_string(),
    };
    let since = Instant::now();
    while !stub.exists() {
        if since.elapsed() > Duration::from_secs(20) {
            return Err(Error::program("qemu-system-x86_64", "does not listen for gdb"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = File::create(told).map_err(Error::file(told))?;
    let errors = output.try_clone().map_err(Error::file(told))?;
    Process::spawn(
        dependent("gdb")
            .args(["-nx", "-batch", "-x"])
            .arg(script)
            .env("STUB", stub)
            .env("SITES", lab.sites())
            .env("ANSWERS", answers)
            .env("ADDITIONS", additions)
            .env("COUNTERS", counters)
            .env("REGISTERS", if processor.registers { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors),
    )
}

fn leaves(leaves: &[Leaf]) -> String {
    let line = |l: &Leaf| {
        let [a, b, c, d] = l.registers;
        format!("{:x} {:x} {a:x} {b:x} {c:x} {d:x}\n", l.leaf, l.subleaf)
    };
    leaves.iter().map(line).collect()
}

/// What gdb's side tells of a write.
pub(crate) fn register(line: &str) -> Option<RegisterWrite> {
    let mut words = line.strip_prefix("REGISTER ")?.split(' ');
    let mask = words.next()? == "mask";
    let number = u32::from_str_radix(words.next()?, 16).ok()?;
    let value = u64::from_str_radix(words.next()?, 16).ok()?;
    Some(RegisterWrite { mask, number, value, cpu: words.next()?.parse().ok()? })
}
