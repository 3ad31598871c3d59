//! Programs as users write them: `mlr:8M`, `mload:60M@2s+idle@1s`.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::traces::TraceOptions;
use fairways_tracer::Launch;
use thiserror::Error;

use crate::account::MOST_OVERLAP;
use crate::service::{RequestSizes, Requests, time_of};

use super::accesses::{Accesses, CPI, SimulatedProgram};
use super::forms::{FORMS, form, number};
use super::live::LiveProgram;
use super::trace::Trace;

/// How long a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseLength {
    /// Instructions, at least 1; an idle phase runs none, and never ends.
    Instructions(u64),
    /// Time.
    Time(Duration),
}

/// The phases of a program as parsed; a phase without a program is idle.
pub type ParsedPhases = Vec<(Option<SimulatedProgram>, Option<PhaseLength>)>;

/// The error for a text that is not a program.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("program {program:?}: {what}")]
pub struct ProgramTextError {
    program: String,
    what: String,
}

/// Splits a list of programs at its commas. Commas in quotes are part of a program.
#[must_use]
pub fn split(text: &str) -> Vec<&str> {
    let (mut programs, mut first, mut quote) = (Vec::new(), 0, None);
    for (place, letter) in text.char_indices() {
        match (quote, letter) {
            (None, ',') => {
                programs.push(text[first..place].trim());
                first = place + 1;
            }
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    programs.push(text[first..].trim());
    programs
}

/// Parses a program: phases with `+` between them, each with `@` and a length, in time (`2s`) or in
/// instructions (`5G`), except for a last one that lasts to the end. `other` finds programs by
/// names that are neither among the [forms](FORMS) nor [`NAMES`](super::NAMES).
///
/// # Errors
/// If it is not a program, or a trace can't be read: [`ProgramTextError`].
pub fn parse(
    text: &str,
    other: impl Fn(&str) -> Option<SimulatedProgram>,
) -> Result<ParsedPhases, ProgramTextError> {
    phases(text, &other).map_err(|what| ProgramTextError { program: text.to_owned(), what })
}

fn phases(
    text: &str,
    other: &impl Fn(&str) -> Option<SimulatedProgram>,
) -> Result<ParsedPhases, String> {
    if let Some(command) = text.trim().strip_prefix("live:") {
        return Ok(vec![(Some(live(command)?), None)]);
    }
    let phases = text.split('+').map(|text| phase(text, other));
    let phases = phases.collect::<Result<ParsedPhases, String>>()?;
    if let [first @ .., _] = &phases[..]
        && first.iter().any(|(_, length)| length.is_none())
    {
        return Err("expected a length (@2s, @5G) of every phase but the last".to_owned());
    }
    Ok(phases)
}

/// Parses a phase: a program or `idle`, and its length if it has one.
fn phase(
    text: &str,
    other: &impl Fn(&str) -> Option<SimulatedProgram>,
) -> Result<(Option<SimulatedProgram>, Option<PhaseLength>), String> {
    let (what, length) = text.split_once('@').unzip();
    let length = length.map(length_of).transpose()?;
    let what = what.unwrap_or(text).trim();
    let program = if what == "idle" { None } else { Some(program(what, other)?) };
    if program.is_none() && matches!(length, Some(PhaseLength::Instructions(_))) {
        return Err("idle runs no instructions: expected a length in time".to_owned());
    }
    Ok((program, length))
}

fn program(
    text: &str,
    other: &impl Fn(&str) -> Option<SimulatedProgram>,
) -> Result<SimulatedProgram, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let (mut options, arguments): (Vec<&str>, Vec<&str>) =
        parts.partition(|part| part.contains('='));
    let found = match name {
        "trace" => Some(trace(&arguments, &mut options)?),
        _ => form(name, &arguments)?,
    };
    let mut program = match found {
        Some(program) => program,
        None if arguments.is_empty() => {
            other(name).ok_or_else(|| format!("expected one of {FORMS}, or a profile's name"))?
        }
        None => return Err(format!("expected one of {FORMS}")),
    };
    for option in options {
        set(&mut program, option)?;
    }
    Ok(program)
}

/// `cpi=0.7`, `overlap=2`, `request=500k`, `cv=0.6`.
fn set(program: &mut SimulatedProgram, option: &str) -> Result<(), String> {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    if name == "request" {
        let Ok(PhaseLength::Instructions(count)) = length_of(value) else {
            return Err(format!("expected instructions of a request, such as 500k, found {value}"));
        };
        let sizes = program.requests.take().map_or(RequestSizes::Equal, |requests| requests.sizes);
        program.requests = Some(Requests { instructions: count as f64, sizes });
        return Ok(());
    }
    let number: f64 = number(value)?;
    match name {
        "cpi" if (0.05..=1000.0).contains(&number) => program.base_cpi = number,
        "overlap" if (1.0..=MOST_OVERLAP).contains(&number) => program.overlap = number,
        "cv" if (0.0..=100.0).contains(&number) => {
            let Some(requests) = &mut program.requests else {
                return Err("expected request=INSTRUCTIONS before cv".to_owned());
            };
            requests.sizes =
                if number == 0.0 { RequestSizes::Equal } else { RequestSizes::LogNormal(number) };
        }
        "cv" => return Err(format!("expected cv from 0 to 100, found {value}")),
        "cpi" => return Err(format!("expected cpi from 0.05 to 1000, found {value}")),
        "overlap" => {
            return Err(format!("expected overlap from 1 to {MOST_OVERLAP}, found {value}"));
        }
        _ => {
            let known = "cpi=X, overlap=X, request=INSTRUCTIONS or cv=X";
            return Err(format!("expected {known}, found {option:?}"));
        }
    }
    Ok(())
}

/// `redis-server --port 7000 -- redis-benchmark -p 7000 -l`, with options and colons before it.
fn live(text: &str) -> Result<SimulatedProgram, String> {
    let (mut text, mut options) = (text, Vec::new());
    while let Some((option, rest)) = text.split_once(':')
        && ["cpi=", "overlap="].iter().any(|name| option.starts_with(name))
    {
        options.push(option);
        text = rest;
    }
    let words = shell_words::split(text).map_err(|_| "expected closed quotes".to_owned())?;
    let mut parts = words
        .split(|word| word == "--")
        .map(|words| words.iter().map(OsString::from).collect::<Vec<OsString>>());
    let (command, rest) = (parts.next().unwrap_or_default(), parts.collect::<Vec<_>>());
    if command.is_empty() || rest.iter().any(Vec::is_empty) || rest.len() > 2 {
        return Err(
            "expected live:COMMAND, live:COMMAND -- CLIENT, or live:COMMAND -- PREPARE -- \
                    CLIENT"
                .to_owned(),
        );
    }
    let mut rest = rest.into_iter().rev();
    let (client, prepare) = (rest.next(), rest.next());
    let mut live = LiveProgram::new(Launch { apart: true, quiet: true, ..Launch::new(command) });
    (live.prepare, live.client) = (prepare, client);
    live.check().map_err(|why| why.to_string())?;
    let mut program = SimulatedProgram::live(live);
    options.into_iter().try_for_each(|option| set(&mut program, option))?;
    Ok(program)
}

/// `trace:FILE:INSTRUCTIONS`; takes its own options out of `options`.
fn trace(arguments: &[&str], options: &mut Vec<&str>) -> Result<SimulatedProgram, String> {
    let (path, most) = match arguments {
        [path] => (path, TRACED),
        [path, text] => match length_of(text)? {
            PhaseLength::Instructions(count) if count <= MOST_TRACED => (path, count),
            _ => return Err(format!("expected up to 1G instructions of a trace, found {text:?}")),
        },
        _ => return Err(format!("expected one of {FORMS}")),
    };
    let mut traced = TraceOptions::default();
    let mut others = Vec::new();
    for &option in options.iter() {
        if !traced.take(option)? {
            others.push(option);
        }
    }
    *options = others;
    let trace = Trace::open(Path::new(path), most, &traced).map_err(|why| why.to_string())?;
    Ok(SimulatedProgram::new(Accesses::Trace(trace), CPI, 4.0))
}

/// Instructions of a trace that are read: some 100 MB of memory.
const TRACED: u64 = 20_000_000;
const MOST_TRACED: u64 = 1_000_000_000;

/// `2s`, `100ms`; `5G`, `100M` instructions.
fn length_of(text: &str) -> Result<PhaseLength, String> {
    if let Some(span) = time_of(text) {
        return Ok(PhaseLength::Time(span));
    }
    for (unit, times) in [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)] {
        if let Some(digits) = text.strip_suffix(unit)
            && let Ok(number) = digits.parse::<f64>()
            && (1.0..=1e18).contains(&(number * times))
        {
            return Ok(PhaseLength::Instructions(instructions(number * times)));
        }
    }
    Err(format!("expected a length such as 2s, 100ms or 5G instructions, found {text:?}"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1 to 10^18, as was checked"
)]
fn instructions(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use crate::program::{MixturePart, Pattern, named};

    use super::*;

    fn one(text: &str) -> SimulatedProgram {
        let mut phases = parse(text, |_| None).unwrap();
        assert_eq!(phases.len(), 1);
        phases.remove(0).0.unwrap()
    }

    fn pattern_of(text: &str) -> Pattern {
        match one(text).accesses {
            Accesses::Pattern(pattern) => pattern,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_form() {
        assert_eq!(pattern_of("mlr:8M"), Pattern::Random { lines: 1 << 17 });
        assert_eq!(pattern_of("mload:4.5M"), Pattern::Sequential { lines: 73_728 });
        assert_eq!(pattern_of("chase:64"), Pattern::Chase { lines: 1 });
        let blocked = Pattern::Blocked { lines: 1 << 14, block: 1 << 9, sweeps: 10 };
        assert_eq!(pattern_of("blocked:1m:32k:10"), blocked);
        assert_eq!(pattern_of("lookbusy"), Pattern::Busy);
        let program = one("mlr:1M:overlap=3:cpi=0.7");
        assert_eq!((program.overlap, program.base_cpi), (3.0, 0.7));
        let Accesses::Zipf(zipf) = one("zipf:100M:2K:0.8").accesses else { panic!() };
        assert_eq!((zipf.records(), zipf.lines(), zipf.exponent()), (51_200, 32, 0.8));
        let Accesses::Mixture(mixture) = one("regions:30:25%10M:75%stream").accesses else {
            panic!()
        };
        let parts =
            [MixturePart { share: 25.0, lines: 163_840 }, MixturePart { share: 75.0, lines: 0 }];
        assert_eq!((mixture.per_kilo_instructions, &mixture.parts[..]), (30.0, &parts[..]));
    }

    #[test]
    fn programs_with_names() {
        for name in super::super::NAMES {
            assert_eq!(Some(one(name)), named(name));
        }
        let program = one("art-like:cpi=1.5:overlap=2");
        assert_eq!((program.base_cpi, program.overlap), (1.5, 2.0));
        assert_eq!(program.accesses, one("art-like").accesses);
        // Before profiles.
        let written = parse("mcf-like", |_| Some(one("lookbusy"))).unwrap();
        assert_eq!(written[0].0, named("mcf-like"));
        // The form takes a file.
        let written = parse("stream", |name| (name == "stream").then(|| one("lookbusy"))).unwrap();
        assert_eq!(written[0].0, Some(one("lookbusy")));
    }

    fn requests(text: &str) -> Requests {
        one(text).requests.unwrap()
    }

    fn requests_of(instructions: f64, sizes: RequestSizes) -> Requests {
        Requests { instructions, sizes }
    }

    #[test]
    fn programs_with_requests() {
        assert_eq!(requests("mlr:8M:request=500k"), requests_of(5e5, RequestSizes::Equal));
        assert_eq!(
            requests("mlr:8M:request=2M:cv=0.6"),
            requests_of(2e6, RequestSizes::LogNormal(0.6))
        );
        assert_eq!(
            requests("masstree-like:request=1M"),
            requests_of(1e6, RequestSizes::LogNormal(0.15))
        );
        assert_eq!(one("mlr:8M").requests, None);
        for text in ["mlr:8M:cv=1", "mlr:8M:request=2s", "silo-like:cv=-1", "mlr:8M:request=0"] {
            let error = parse(text, |_| None).unwrap_err().to_string();
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }

    #[test]
    fn phases_have_lengths() {
        let phases = parse("idle@1.5s+mlr:8M@2G+lookbusy", |_| None).unwrap();
        let lengths: Vec<Option<PhaseLength>> = phases.iter().map(|phase| phase.1).collect();
        let time = PhaseLength::Time(Duration::from_millis(1500));
        assert_eq!(lengths, [Some(time), Some(PhaseLength::Instructions(2_000_000_000)), None]);
        assert!(phases[0].0.is_none() && phases[2].0.is_some());
        assert_eq!(
            parse("chess", |name| (name == "chess").then(|| one("lookbusy"))).unwrap().len(),
            1
        );
    }

    #[test]
    fn a_text_that_is_no_program_is_refused_in_a_line() {
        for (text, expected) in [
            ("mlr:8X", "expected a size from 64 to 2G, such as 8M, found \"8X\""),
            ("mlr:", "expected a size"),
            ("mlr:3G", "expected a size"),
            ("mlr:-1M", "expected a size"),
            ("mlr:nan", "expected a size"),
            ("mlr", "expected one of"),
            ("art-like:8M", "expected one of mlr:SIZE"),
            ("nonesuch", "or a profile's name"),
            ("", "or a profile's name"),
            ("mlr:8M:overlap=0.5", "expected overlap from 1 to 64"),
            ("mlr:8M:overlap=1e300", "expected overlap from 1 to 64"),
            ("lookbusy:cpi=inf", "expected cpi from 0.05 to 1000"),
            ("lookbusy:cpi=nan", "expected cpi from 0.05 to 1000"),
            ("regions:10:nan%1M:1%2M", "expected a share above 0"),
            ("regions:10:inf%1M", "expected a share above 0"),
            ("regions:nan:1%1M", "references per 1000 instructions"),
            ("zipf:2G:64", "at most 4194304 records"),
            ("mlr:8M:colour=red", "expected a number"),
            ("mlr:8M:colour=1", "expected cpi=X, overlap=X, request="),
            ("mlr:8M@2x", "expected a length such as"),
            ("mlr:8M@0s", "expected a length such as"),
            ("mlr:8M+lookbusy", "every phase but the last"),
            ("idle@5G", "expected a length in time"),
            ("trace:/nonesuch", "/nonesuch: can't read it"),
            ("trace:/nonesuch:2s", "instructions of a trace"),
            ("stream:/nonesuch", "/nonesuch: can't read it"),
            ("stream:/dev/null", "expected a stream that fairways-lab record wrote"),
            ("stream:a:b", "expected one of"),
            ("stream", "or a profile's name"),
            ("zipf:1K:2K", "at least a record"),
            ("blocked:1M:4K:0", "at least 1 sweep"),
            ("regions:0:100%1M", "references per 1000 instructions"),
            ("regions:10:1M", "SHARE%SIZE"),
            ("regions:10:50%1G:50%1.5G", "less than 2G"),
        ] {
            let error = parse(text, |_| None).unwrap_err().to_string();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
