//! `fairways explain`: the last decisions, and why each was taken.

mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use fairways_command_kit::BadInput;
use serde::Serialize;

use crate::ask;
use crate::journal::Followed;
use crate::status::{Decision, Said, share_of};

/// Nobody wants to see more decisions; no more than the last 256 are known.
pub const MOST: usize = 1_000_000;

/// What is printed with --json.
#[derive(Serialize)]
struct Told<'a> {
    /// Of [`Decision`].
    schema: u32,
    /// The oldest first.
    decisions: Vec<&'a Decision>,
    /// What is not as it was decided, of a daemon, now; a journal doesn't tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<&'a [String]>,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Of this program only; without it, of everybody.
    pub program: Option<String>,
    /// The daemon's control socket, instead of the usual one.
    pub control: Option<PathBuf>,
    /// A journal, instead of a daemon.
    pub journal: Option<PathBuf>,
    /// How many decisions, from 1 to [`MOST`].
    pub last: usize,
    /// One JSON object, instead of sentences.
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// If no daemon answers, the journal is none, the decisions are not about the program, or `out`
/// takes no more.
pub fn run(args: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let (decisions, degraded) = match &args.journal {
        None => {
            let decisions = ask::decisions(args.control.as_deref())?;
            (decisions, Some(ask::status_of(args.control.as_deref())?.degraded))
        }
        Some(path) => {
            let mut followed = Followed::open(path)?;
            while followed.step()?.is_some() {}
            (followed.watched.decisions.kept().cloned().collect::<Vec<_>>(), None)
        }
    };
    let about = args.program.as_deref();
    let mut chosen = match about {
        None => decisions.iter().map(|of| of.number).collect(),
        Some(name) => about_it(&decisions, name),
    };
    if let Some(name) = about
        && chosen.is_empty()
    {
        let names = text::names(&decisions);
        let known = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        let said = "expected a program of the last decisions, which are about";
        return Err(BadInput(format!("{name}: {said} {known}")).into());
    }
    let skip = chosen.len().saturating_sub(args.last);
    chosen.drain(..skip);
    let shown = |of: &&Decision| chosen.binary_search(&of.number).is_ok();
    if args.json {
        let decisions = decisions.iter().filter(shown).collect();
        let degraded = degraded.as_deref();
        let told = Told { schema: crate::status::SCHEMA, decisions, degraded };
        serde_json::to_writer(&mut *out, &told)?;
        writeln!(out)?;
    } else if decisions.is_empty() {
        writeln!(out, "nothing was decided yet")?;
    } else {
        text::print(&decisions, &|of| shown(&of), args.program.as_deref(), true, out)?;
        for line in degraded.iter().flatten() {
            writeln!(out, "degraded now: {line}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Those that are to be shown, by their numbers, in sentences: what happened, what was done about it and why, and below it, indented,
/// what was held of whom.
pub fn sentences(decisions: &[Decision], numbers: &[u64], about: Option<&str>) -> Vec<String> {
    let mut told = Vec::new();
    // Writing to memory does not fail.
    let _ = text::print(decisions, &|of| numbers.contains(&of.number), about, false, &mut told);
    String::from_utf8_lossy(&told).lines().map(str::to_owned).collect()
}

/// The decisions that say or do something about a program. A plan does if the program's ways in that domain are others than before.
pub fn about_it(decisions: &[Decision], name: &str) -> Vec<u64> {
    let mut ways = BTreeMap::new();
    let mut about = Vec::new();
    for decision in decisions {
        let mut is_about = false;
        for said in &decision.said {
            is_about |= match said {
                Said::Planned { clusters, .. } => {
                    share_of(clusters, name).is_some_and(|(share, _)| {
                        ways.insert(decision.domain, &share.mask) != Some(&share.mask)
                    })
                }
                _ => said.names(name),
            };
        }
        if is_about {
            about.push(decision.number);
        }
        if decision.ended.iter().any(|ended| ended == name) {
            ways.remove(&decision.domain);
        }
    }
    about
}

#[cfg(test)]
mod tests;
