//! gdb, which answers in the processor's place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::processor::Leaf;
use crate::tools::dependent;
use crate::{Counters, Error, Lab, Processor};

/// Its output once it answers.
pub(crate) const READY: &str = "READY";

const CPU: &str = include_str!("../assets/cpu.py");

/// A write to a register of a class of service, as the kernel would have made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Whether it sets a mask (cache) rather than memory bandwidth.
    pub mask: bool,
    /// The register: from 0xC90 for L3 masks, from 0xD10 for L2, from 0xD50 for Intel's bandwidths,
    /// from 0xC0000200 for AMD's, from 0xC0000280 for those of slow memory.
    pub number: u32,
    /// The value; Intel's bandwidths are delays, 100 less the percentage.
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
    reports: &Path,
) -> Result<Process, Error> {
    let script = write(directory.join("cpu.py"), CPU)?;
    let answers = write(directory.join("answers"), &leaves(&processor.answers()))?;
    let additions = write(directory.join("additions"), &leaves(&processor.additions()))?;
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
    let output = File::create(reports).map_err(Error::file(reports))?;
    let errors = output.try_clone().map_err(Error::file(reports))?;
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

fn write(path: PathBuf, text: &str) -> Result<PathBuf, Error> {
    fs::write(&path, text).map_err(Error::file(&path)).map(|()| path)
}

fn leaves(leaves: &[Leaf]) -> String {
    leaves
        .iter()
        .map(|l| {
            let [a, b, c, d] = l.registers;
            format!("{:x} {:x} {a:x} {b:x} {c:x} {d:x}\n", l.leaf, l.subleaf)
        })
        .collect()
}

/// Parses a line that gdb's script prints for a write.
pub(crate) fn register(line: &str) -> Option<RegisterWrite> {
    let mut words = line.strip_prefix("REGISTER ")?.split(' ');
    let mask = words.next()? == "mask";
    let number = u32::from_str_radix(words.next()?, 16).ok()?;
    let value = u64::from_str_radix(words.next()?, 16).ok()?;
    Some(RegisterWrite { mask, number, value, cpu: words.next()?.parse().ok()? })
}
