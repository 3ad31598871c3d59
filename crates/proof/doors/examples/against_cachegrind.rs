//! `fairways-lab profile` beside `valgrind --tool=cachegrind`: the same programs, the same caches,
//! in the same run.
//!
//! `cargo build --release && cargo run --release -p fairways-doors --example against_cachegrind [--
//! ROUNDS [times]]`, which needs qemu-user, valgrind, gzip, xz, gcc and sqlite3.
//!
//! One run of `fairways-lab profile` counts the misses with 1 to 16 ways of 64 KB; cachegrind takes
//! a run for each. Both have a D1 of 32 KB and 8 ways, look up virtual addresses, and have no L2;
//! an I1 of 16 MB keeps instructions out of cachegrind's last-level cache but for the first touch.
//! Prints two CSVs: the counts of both, and then how long both take, in pairs: the time that
//! passes, and the processors' time, which other work on the machine changes less. With `times`
//! only the second.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const WAYS: [u64; 5] = [1, 2, 4, 8, 16];
const SETS: u64 = 1024;

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse::<u32>())?;
    let folder = tempfile::tempdir()?;
    let programs = programs(folder.path())?;
    let fairways = std::env::current_exe()?.with_file_name("../fairways");
    let times_only = std::env::args().nth(2).is_some_and(|what| what == "times");
    let counted = if times_only { &[] } else { &programs[..] };
    println!("program,ways,count,profile,cachegrind,difference");
    for (name, command) in counted {
        let (found, _) = profile(&fairways, command, folder.path())?;
        let count = |field: &str| found[field].as_u64().ok_or(format!("no {field}"));
        for ways in WAYS {
            let (counted, _) = cachegrind(command, ways)?;
            let row = |what: &str, ours: u64, theirs: u64| {
                let off = 100.0 * (ours as f64 / theirs as f64 - 1.0);
                println!("{name},{ways},{what},{ours},{theirs},{off:+.2} %");
            };
            if ways == WAYS[0] {
                row("instructions", count("instructions")?, counted[0]);
                row("data references", count("l1_references")?, counted[1]);
                row("D1 misses", count("l1_misses")?, counted[2]);
            }
            let by_ways = found["by_ways"].as_array().ok_or("no rows")?;
            let at = by_ways.iter().find(|row| row["ways"].as_u64() == Some(ways));
            let misses = at.and_then(|row| row["llc_misses"].as_u64()).ok_or("no misses")?;
            row("LLC misses of data", misses, counted[3]);
        }
    }
    println!(
        "\nprogram,round,profile_s,cachegrind_s,profile_cpu_s,cachegrind_cpu_s,references_per_s"
    );
    for round in 1..=rounds {
        for (name, command) in &programs {
            let (found, ours) = profile(&fairways, command, folder.path())?;
            let (_, theirs) = cachegrind(command, 16)?;
            let references = found["l1_references"].as_f64().unwrap_or(0.0) / ours.passed;
            let ([ours, our_cpu], [theirs, their_cpu]) =
                ([ours.passed, ours.cpu], [theirs.passed, theirs.cpu]);
            println!(
                "{name},{round},{ours:.2},{theirs:.2},{our_cpu:.2},{their_cpu:.2},{references:.0}"
            );
        }
    }
    Ok(())
}

/// Programs of different kinds, on inputs that are made here.
fn programs(folder: &Path) -> Result<Vec<(&'static str, Vec<String>)>> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut text = String::new();
    let (mut code, mut state) = (String::from("int seed;\n"), 1u64);
    for line in 0..40_000u32 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = ["alpha", "beta", "gamma", "delta", "epsilon"][(state >> 33) as usize % 5];
        writeln!(text, "{line} {word} {:x} {}", state >> 40, state % 1000)?;
    }
    for function in 0..60 {
        writeln!(
            code,
            "int f{function}(int a, int b) {{ int s = a * {function} + seed; \
             for (int i = 0; i < b; i++) {{ if ((s ^ i) % {m} == 0) s += i * a; else s -= b >> (i & 7); }} \
             return s; }}",
            m = function % 13 + 2
        )?;
    }
    std::fs::write(path("text"), &text)?;
    std::fs::write(path("code.c"), code)?;
    let cc1 = Command::new("gcc").arg("-print-prog-name=cc1").output()?;
    let cc1 = String::from_utf8(cc1.stdout)?.trim().to_owned();
    let query = "create table t(k integer, v text); \
                 with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) \
                 insert into t select i * 7919 % 60013, 'value ' || i from n; \
                 create index byk on t(k); \
                 select count(*), sum(length(a.v)) from t a join t b on a.k = b.k + 1;";
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    Ok(vec![
        ("gzip", words(&["gzip", "-9", "-k", "-c", &path("text")])),
        ("xz", words(&["xz", "-6", "-k", "-c", &path("text")])),
        ("cc1", words(&[&cc1, "-quiet", "-O2", &path("code.c"), "-o", "/dev/null"])),
        ("sqlite3", words(&["sqlite3", ":memory:", query])),
    ])
}

/// The seconds that a command took.
struct Took {
    passed: f64,
    /// Of processors, by it and all that it started.
    cpu: f64,
}

/// A command that runs.
struct CommandClock {
    start: Instant,
    cpu: f64,
}

impl CommandClock {
    fn start() -> Result<Self> {
        Ok(Self { cpu: children_seconds()?, start: Instant::now() })
    }

    fn stop(self) -> Result<Took> {
        let passed = self.start.elapsed().as_secs_f64();
        Ok(Took { passed, cpu: children_seconds()? - self.cpu })
    }
}

/// The processors' time of all children that have ended: `cutime` and `cstime` of proc_pid_stat(5),
/// in hundredths of a second.
fn children_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no name in /proc/self/stat")?;
    let times = fields.split(' ').skip(13).take(2);
    Ok(times.map(str::parse::<f64>).sum::<std::result::Result<f64, _>>()? / 100.0)
}

/// What `fairways-lab profile --json` says, and how long it took.
fn profile(
    fairways: &Path,
    command: &[String],
    folder: &Path,
) -> Result<(serde_json::Value, Took)> {
    let clock = CommandClock::start()?;
    let out = Command::new(fairways)
        .args(["profile", "--json", "--by-address", "--ways", "16", "-o"])
        .arg(folder.join("profile.csv"))
        .args(["--machine", &format!("chip:skylake:sets={SETS}:l1=32/8:l2=none"), "--"])
        .args(command)
        .stderr(Stdio::null())
        .output()?;
    let took = clock.stop()?;
    if !out.status.success() {
        return Err(format!("{command:?}: {}", out.status).into());
    }
    Ok((serde_json::from_slice(&out.stdout)?, took))
}

/// Instructions, data references, D1 misses and LLC misses of data; and how long it took.
fn cachegrind(command: &[String], ways: u64) -> Result<([u64; 4], Took)> {
    let clock = CommandClock::start()?;
    let out = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"])
        .args(["--I1=16777216,16,64", "--D1=32768,8,64"])
        .arg(format!("--LL={},{ways},64", SETS * ways * 64))
        .args(command)
        .stdout(Stdio::null())
        .output()?;
    let took = clock.stop()?;
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    let count = |name: &str| -> Result<u64> {
        let line = log.lines().find(|line| line.contains(name)).ok_or(format!("no {name:?}"))?;
        let numbers = line.split_once(':').ok_or("no number")?.1;
        let first = numbers.split_whitespace().next().ok_or("no number")?;
        Ok(first.replace(',', "").parse()?)
    };
    let counted =
        [count("I   refs")?, count("D   refs")?, count("D1  misses")?, count("LLd misses")?];
    Ok((counted, took))
}
