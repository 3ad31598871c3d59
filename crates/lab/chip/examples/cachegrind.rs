//! The same program through the chip's caches and through those of `valgrind --tool=cachegrind`.
//!
//! `cargo run --release -p fairways-chip --example cachegrind -- PROGRAM ARGUMENTS...`
//!
//! Records the program's accesses with valgrind's `lackey`, runs them on a chip with an L1 of 32 KB
//! and 8 ways and an LLC of 256 KB and 8 ways, and prints both counts. Differences: cachegrind
//! counts one reference for an access to two lines, and looks up virtual addresses; its LLC also
//! caches instructions, which an I1 of 1 MB keeps out of it here except for the first touch.

#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use fairways_chip::program::{Accesses, Trace};
use fairways_chip::traces::TraceOptions;
use fairways_chip::{
    CacheShape, Chip, Geometry, Job, PagePlacement, Settings, SimulatedProgram, preset,
};
use fairways_core::{Llc, NoPolicy, Ways, run};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let program: Vec<String> = std::env::args().skip(1).collect();
    if program.is_empty() {
        return Err("expected a program".into());
    }
    let path = std::env::temp_dir().join(format!("fairways-{}.trace", std::process::id()));
    record(&program, &path)?;
    let trace = Trace::open(&path, u64::MAX, &TraceOptions::default())?;
    std::fs::remove_file(&path)?;
    let instructions = trace.instructions();
    let chip = Geometry {
        cores: 1,
        l1: CacheShape::from_kb(32, 8),
        l2: None,
        sets: 512,
        llc: Llc::with_ways(Ways::new(8).ok_or("8 ways")?),
        inclusive: false,
        ..preset::preset("skylake").ok_or("a preset")?
    };
    let settings = Settings { placement: PagePlacement::Sequential, ..Settings::new(chip) };
    let program_of = SimulatedProgram::new(Accesses::Trace(trace), 1.0, 1.0);
    let job = Job { instructions: Some(instructions), ..Job::new(program_of) };
    let mut chip = Chip::new(settings, [job])?;
    run(&mut chip, &mut NoPolicy, &mut []);
    let account = chip.account(0);
    let counted = cachegrind(&program)?;
    println!("count, chip, cachegrind, difference");
    for (what, ours, theirs) in [
        ("instructions", account.instructions, counted[0]),
        ("data references", account.l1_references, counted[1]),
        ("D1 misses", account.l1_misses, counted[2]),
        ("LLC misses of data", account.llc_misses, counted[3]),
    ] {
        let off = 100.0 * (ours as f64 / theirs as f64 - 1.0);
        println!("{what}, {ours}, {theirs}, {off:+.2} %");
    }
    Ok(())
}

/// Writes the accesses of a program as ChampSim has them.
fn record(program: &[String], path: &Path) -> Result<()> {
    // Its log goes to standard error, which the program shares.
    let mut child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes"])
        .args(program)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let log = BufReader::new(child.stderr.take().ok_or("no standard error")?);
    let mut out = BufWriter::new(File::create(path)?);
    let mut now = Record::default();
    for line in log.split(b'\n') {
        let line = line?;
        let Some((kind, address)) = access(&line) else { continue };
        if kind == b'I' {
            now.write(&mut out)?;
            now = Record { is_any: true, ..Record::default() };
        }
        if matches!(kind, b'L' | b'M') {
            now.add(address, true);
        }
        if matches!(kind, b'S' | b'M') {
            now.add(address, false);
        }
    }
    now.write(&mut out)?;
    child.wait()?;
    Ok(out.flush()?)
}

/// ` L 1ffeffe7e,8` and the like.
fn access(line: &[u8]) -> Option<(u8, u64)> {
    let text = std::str::from_utf8(line).ok()?;
    let kind = text.trim_start().bytes().next().filter(|kind| b"ILSM".contains(kind))?;
    let (address, size) = text.trim_start()[1..].trim_start().split_once(',')?;
    size.parse::<u32>().ok()?;
    Some((kind, u64::from_str_radix(address, 16).ok()?))
}

#[derive(Default)]
struct Record {
    is_any: bool,
    read: Vec<u64>,
    written: Vec<u64>,
}

impl Record {
    fn add(&mut self, address: u64, reads: bool) {
        if reads { &mut self.read } else { &mut self.written }.push(address);
    }

    /// An instruction with more than four reads or two writes keeps the first of them.
    fn write(&self, out: &mut impl Write) -> Result<()> {
        if !self.is_any {
            return Ok(());
        }
        let mut bytes = [0; 64];
        for (at, most, addresses) in [(32, 4, &self.read), (16, 2, &self.written)] {
            for (place, address) in addresses.iter().take(most).enumerate() {
                bytes[at + 8 * place..][..8].copy_from_slice(&address.to_le_bytes());
            }
        }
        Ok(out.write_all(&bytes)?)
    }
}

/// Instructions, data references, D1 misses and LLC misses of data.
fn cachegrind(program: &[String]) -> Result<[u64; 4]> {
    let out = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"])
        .args(["--I1=1048576,16,64", "--D1=32768,8,64", "--LL=262144,8,64"])
        .args(program)
        .stdout(Stdio::null())
        .output()?;
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    let count = |name: &str| -> Result<u64> {
        let line = log.lines().find(|line| line.contains(name)).ok_or(format!("no {name:?}"))?;
        let numbers = line.split_once(':').ok_or("no number")?.1;
        let first = numbers.split_whitespace().next().ok_or("no number")?;
        Ok(first.replace(',', "").parse()?)
    };
    Ok([count("I   refs")?, count("D   refs")?, count("D1  misses")?, count("LLd misses")?])
}
