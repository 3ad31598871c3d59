//! `fairways explain`: the last decisions and the reasons for them.

mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use fairways_command_kit::BadInput;
use serde::Serialize;

use crate::client;
use crate::journal::Follower;
use crate::status::{Decision, Outcome, RecordedAction, share_of};

/// The most decisions that can be requested; only the last 256 are known.
pub const MOST: usize = 1_000_000;

/// The JSON object that `--json` prints.
#[derive(Serialize)]
struct Explanation<'a> {
    /// [`Decision`]'s schema.
    schema: u32,
    /// The oldest first.
    decisions: Vec<&'a Decision>,
    /// Whether plans were only observed, and none was carried out.
    observed: bool,
    /// How a daemon's machine differs from the decisions now; absent with a journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<&'a [String]>,
}

/// The command's options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Show decisions about this program only; without it, about all programs.
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
/// If no daemon answers, the file is no journal, the decisions are not about the program, or `out`
/// can't be written.
pub fn run(args: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let (decisions, observed, degraded) = match &args.journal {
        None => {
            let decisions = client::decisions(args.control.as_deref())?;
            let status = client::status(args.control.as_deref())?;
            (decisions, status.observes(), Some(status.degraded))
        }
        Some(path) => {
            let mut followed = Follower::open(path)?;
            while followed.step()?.is_some() {}
            let observed = followed.header().is_observed();
            (followed.record.decisions.kept().collect::<Vec<_>>(), observed, None)
        }
    };
    let about = args.program.as_deref();
    let mut chosen = match about {
        None => decisions.iter().map(|decision| decision.number).collect(),
        Some(name) => decisions_about(&decisions, name),
    };
    if let Some(name) = about
        && chosen.is_empty()
    {
        let names = text::names(&decisions);
        let known = if names.is_empty() { "no program".to_owned() } else { names.join(", ") };
        return Err(BadInput(format!(
            "{name}: expected a program of the last decisions, which are about {known}"
        ))
        .into());
    }
    let skip = chosen.len().saturating_sub(args.last);
    chosen.drain(..skip);
    let shown = |decision: &&Decision| chosen.binary_search(&decision.number).is_ok();
    if args.json {
        let decisions = decisions.iter().filter(shown).collect();
        let degraded = degraded.as_deref();
        let schema = crate::status::SCHEMA;
        let explanation = Explanation { schema, decisions, observed, degraded };
        serde_json::to_writer(&mut *out, &explanation)?;
        writeln!(out)?;
    } else if decisions.is_empty() {
        writeln!(out, "nothing was decided yet")?;
    } else {
        text::print(&decisions, &|decision| shown(&decision), args.program.as_deref(), true, out)?;
        if observed {
            writeln!(out, "observed only: no plan was carried out")?;
        }
        for line in degraded.iter().flatten() {
            writeln!(out, "degraded now: {line}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The decisions with these numbers, in sentences: the event, the plan and its reason, and below
/// them, indented, what the policy found about each program.
pub fn sentences(decisions: &[Decision], numbers: &[u64], about: Option<&str>) -> Vec<String> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = text::print(
        decisions,
        &|decision| numbers.contains(&decision.number),
        about,
        false,
        &mut text,
    );
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Prints these decisions, whatever they are about.
pub(crate) fn print(decisions: &[Decision], json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if json {
        let decisions = decisions.iter().collect();
        let (schema, observed) = (crate::status::SCHEMA, false);
        let explanation = Explanation { schema, decisions, observed, degraded: None };
        serde_json::to_writer(&mut *out, &explanation)?;
        writeln!(out)?;
    } else if decisions.is_empty() {
        writeln!(out, "nothing was decided")?;
    } else {
        text::print(decisions, &|_| true, None, true, out)?;
    }
    Ok(out.flush()?)
}

/// The numbers of the decisions about a program. A plan is about it if it changes the program's
/// ways in its domain.
pub fn decisions_about(decisions: &[Decision], name: &str) -> Vec<u64> {
    let mut ways = BTreeMap::new();
    let mut about = Vec::new();
    for decision in decisions {
        let mut is_about = false;
        for action in &decision.actions {
            is_about |= match action {
                RecordedAction::Planned { clusters, outcome, .. } => {
                    share_of(clusters, name).is_some_and(|(share, _)| {
                        let before = match outcome {
                            // The ways stay; the next plan may give the same, and succeed.
                            Outcome::Refused(_) => ways.get(&decision.domain).copied(),
                            _ => ways.insert(decision.domain, &share.mask),
                        };
                        before != Some(&share.mask)
                    })
                }
                _ => action.is_about(name),
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
