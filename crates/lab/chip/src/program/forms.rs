//! The forms of programs that are not named: `mlr:8M`, `zipf:64M`.

use std::path::Path;
use std::str::FromStr;

use crate::geometry::LINE;

use super::access::MOST_LINES;
use super::accesses::{Accesses, CPI, SimulatedProgram};
use super::mixture::{Mixture, MixturePart, whole};
use super::named::named;
use super::pattern::Pattern;
use super::stream::StreamReplay;
use super::zipf::Zipf;

/// The forms of programs, for people.
pub const FORMS: &str = "mlr:SIZE, mload:SIZE, chase:SIZE, blocked:SIZE:BLOCK:SWEEPS, \
                         zipf:SIZE:RECORD:EXPONENT, regions:REFERENCES:SHARE%SIZE:..., \
                         trace:FILE:INSTRUCTIONS, stream:FILE, live:COMMAND, lookbusy, idle, art-like and others of CPU2000, \
                         berkeley-db-like, silo-like and others of TailBench, mcf06-like";

fn some(accesses: Accesses, overlap: f64) -> Result<Option<SimulatedProgram>, String> {
    Ok(Some(SimulatedProgram::new(accesses, CPI, overlap)))
}

fn pattern(pattern: Pattern, overlap: f64) -> Result<Option<SimulatedProgram>, String> {
    some(Accesses::Pattern(pattern), overlap)
}

/// A program of one of the [forms](FORMS), or one of the named programs.
pub(super) fn form(name: &str, arguments: &[&str]) -> Result<Option<SimulatedProgram>, String> {
    if arguments.is_empty()
        && let Some(program) = named(name)
    {
        return Ok(Some(program));
    }
    match (name, arguments) {
        ("stream", [path]) => {
            let stream = StreamReplay::open(Path::new(path))?;
            Ok(Some(SimulatedProgram::replayed(stream)))
        }
        // MLR measures the latency of each load, so none overlap.
        ("mlr", [size]) => pattern(Pattern::Random { lines: lines(size)? }, 1.0),
        ("mload", [size]) => pattern(Pattern::Sequential { lines: lines(size)? }, PREFETCHED),
        ("chase", [size]) => pattern(Pattern::Chase { lines: lines(size)? }, 1.0),
        ("lookbusy", []) => pattern(Pattern::Busy, 1.0),
        ("blocked", [size, block, sweeps]) => {
            let (lines, block) = (lines(size)?, lines(block)?);
            pattern(Pattern::Blocked { lines, block, sweeps: count(sweeps)? }, PREFETCHED)
        }
        ("zipf", [size, more @ ..]) if more.len() <= 2 => {
            let record = lines(more.first().unwrap_or(&"1K"))?;
            let exponent = more.get(1).map_or(Ok(YCSB), |text| number(text))?;
            let records = lines(size)? / record;
            if records == 0 || !(0.0..=10.0).contains(&exponent) {
                return Err("expected at least a record, and an exponent from 0 to 10".to_owned());
            }
            if records > MOST_RECORDS {
                return Err(format!("expected at most {MOST_RECORDS} records, found {records}"));
            }
            some(Accesses::Zipf(Zipf::new(records, record, exponent, PER_LINE)), 2.0)
        }
        ("regions", [references, parts @ ..]) if !parts.is_empty() => {
            let per_kilo_instructions = number(references)?;
            if !(per_kilo_instructions > 0.0 && per_kilo_instructions <= 1000.0) {
                let found = format!("found {references}");
                return Err(format!("expected references per 1000 instructions to 1000, {found}"));
            }
            let parts =
                parts.iter().map(|text| part(text)).collect::<Result<Vec<MixturePart>, _>>()?;
            let all: u64 = parts.iter().map(|part| u64::from(part.lines)).sum();
            if all >= MOST_LINES {
                return Err("expected regions of less than 2G together".to_owned());
            }
            let mixture = Mixture { parts, per_kilo_instructions, stores: 0.0, missed: true };
            some(Accesses::Mixture(mixture), 4.0)
        }
        // A program of the corpus (STREAM).
        ("stream", []) => Ok(None),
        ("mlr" | "mload" | "chase" | "blocked" | "zipf" | "regions" | "stream" | "lookbusy", _) => {
            Err(format!("expected one of {FORMS}"))
        }
        _ => Ok(None),
    }
}

/// The number of lines that a hardware prefetcher has under way.
const PREFETCHED: f64 = 8.0;

/// The exponent of YCSB.
const YCSB: f64 = 0.99;

/// Each record takes 8 bytes in a table.
const MOST_RECORDS: u32 = 1 << 22;

/// Instructions for a line of a record.
const PER_LINE: u32 = 64;

/// `25%10M`, `75%stream`.
fn part(text: &str) -> Result<MixturePart, String> {
    let (share, region) = text
        .split_once('%')
        .ok_or_else(|| format!("expected SHARE%SIZE or SHARE%stream, found {text:?}"))?;
    let share = number(share)?;
    if !(share > 0.0 && share <= 1e9) {
        return Err(format!("expected a share above 0, found {text:?}"));
    }
    Ok(MixturePart { share, lines: if region == "stream" { 0 } else { lines(region)? } })
}

/// The lines of a size such as `8M` or `4.5M`: at least one, and at most 2G.
fn lines(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1u64 << 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let lines = digits.parse::<f64>().ok().map(|size| size * unit as f64 / LINE as f64);
    let lines = lines.filter(|lines| (1.0..=MOST_LINES as f64).contains(lines));
    lines
        .map(whole)
        .ok_or_else(|| format!("expected a size from 64 to 2G, such as 8M, found {text:?}"))
}

fn count(text: &str) -> Result<u32, String> {
    let count: u32 = number(text)?;
    if count == 0 { Err("expected at least 1 sweep".to_owned()) } else { Ok(count) }
}

pub(super) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a number, found {text:?}"))
}
