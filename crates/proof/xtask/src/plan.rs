//! Which suites a run has to repeat, and which ones still hold.

use std::io::Write;

use anyhow::Context as _;

use crate::inputs::{CheckSubject, Checkout, SuiteInputs, hash};
use crate::record::{PassRecord, PassStanding};

/// A suite or a step, with what is to be done.
#[derive(Clone, Debug)]
pub(crate) struct PlanEntry {
    pub(crate) subject: CheckSubject,
    pub(crate) inputs: SuiteInputs,
    pub(crate) decision: RunDecision,
    /// How often it has to pass.
    pub(crate) times: u32,
    /// Seconds of its last recorded pass.
    pub(crate) seconds: Option<f64>,
}

/// Whether something runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunDecision {
    /// It runs, for this reason.
    Run(String),
    /// It holds, but was drawn to check that.
    Drawn(String),
    /// It passed with these inputs, at this time and commit.
    Unchanged(String),
}

impl PlanEntry {
    pub(crate) fn runs(&self) -> bool {
        !matches!(self.decision, RunDecision::Unchanged(_))
    }

    /// Whether it runs, and why or why not.
    pub(crate) fn reason(&self) -> String {
        match &self.decision {
            RunDecision::Run(why) if self.times > 1 => {
                format!("runs {} times, because it failed: {why}", self.times)
            }
            RunDecision::Run(why) => format!("runs: {why}"),
            RunDecision::Drawn(stamp) => format!("runs, drawn by lot: unchanged since {stamp}"),
            RunDecision::Unchanged(stamp) => format!("unchanged since {stamp}"),
        }
    }
}

/// Decides for each suite and step whether it runs. One of those that would not is drawn and runs,
/// too; which one, `seed` says.
///
/// # Errors
/// If the inputs of one can't be found.
pub(crate) fn plan(
    checkout: &Checkout,
    record: &PassRecord,
    subjects: Vec<CheckSubject>,
    all: bool,
    seed: &str,
    now: u64,
) -> anyhow::Result<Vec<PlanEntry>> {
    let mut entries = Vec::new();
    for subject in subjects {
        let inputs = checkout.inputs(&subject).with_context(|| subject.name.clone())?;
        let decision = match record.standing(&subject.name, &inputs, now) {
            PassStanding::Runs(why) => RunDecision::Run(why),
            PassStanding::Holds(_) if all => RunDecision::Run("all are asked for".to_owned()),
            PassStanding::Holds(line) => RunDecision::Unchanged(line.stamp()),
        };
        let times = record.passes_needed(&subject.name, &inputs);
        let seconds = record.line(&subject.name).map(|line| line.seconds);
        entries.push(PlanEntry { subject, inputs, decision, times, seconds });
    }
    draw(&mut entries, seed);
    Ok(entries)
}

/// Lets one of those run that would not.
fn draw(entries: &mut [PlanEntry], seed: &str) {
    let unchanged = entries.iter_mut().filter(|entry| !entry.runs());
    // Each gets a number from the seed and its name; the least runs.
    let drawn =
        unchanged.min_by_key(|entry| hash(&[seed.as_bytes(), entry.subject.name.as_bytes()]));
    if let Some(entry) = drawn
        && let RunDecision::Unchanged(stamp) = &entry.decision
    {
        entry.decision = RunDecision::Drawn(stamp.clone());
    }
}

/// Prints what runs and what does not, with the reason and the seconds of the last pass.
pub(crate) fn print(entries: &[PlanEntry], to: &mut dyn Write) {
    let (mut running, mut unchanged) = (0.0, 0.0);
    let _ = writeln!(to, "\n== what runs, what does not, and the seconds of its last pass");
    let mut sorted: Vec<&PlanEntry> = entries.iter().collect();
    sorted.sort_by(|one, other| {
        let runs = other.runs().cmp(&one.runs());
        runs.then(other.seconds.unwrap_or(0.0).total_cmp(&one.seconds.unwrap_or(0.0)))
    });
    for entry in sorted {
        let seconds = entry.seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.0}"));
        let sum = if entry.runs() { &mut running } else { &mut unchanged };
        *sum += entry.seconds.unwrap_or(0.0);
        let _ = writeln!(to, "{seconds:>7} {}: {}", entry.subject.name, entry.reason());
    }
    let count = entries.iter().filter(|entry| entry.runs()).count();
    let _ = writeln!(
        to,
        "{count} of {} run; their last passes took {running:.0} s, those of the others {unchanged:.0} s",
        entries.len()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, decision: RunDecision) -> PlanEntry {
        let part = String::new();
        PlanEntry {
            subject: CheckSubject { name: name.to_owned(), ..CheckSubject::default() },
            inputs: SuiteInputs { code: part.clone(), data: part.clone(), tools: part },
            decision,
            times: 1,
            seconds: Some(2.0),
        }
    }

    fn drawn(seed: &str, names: &[&str]) -> Vec<String> {
        let mut entries: Vec<PlanEntry> = names
            .iter()
            .map(|name| entry(name, RunDecision::Unchanged("2026-01-02, abc".to_owned())))
            .chain([entry("changed", RunDecision::Run("code changed".to_owned()))])
            .collect();
        draw(&mut entries, seed);
        let drawn =
            entries.into_iter().filter(|entry| matches!(entry.decision, RunDecision::Drawn(_)));
        drawn.map(|entry| entry.subject.name).collect()
    }

    #[test]
    fn one_that_holds_is_drawn_by_the_commit() {
        let names = ["a", "b", "c", "d", "e"];
        let commits: Vec<String> = (0..40).map(|commit| format!("{commit:040x}")).collect();
        let mut all = std::collections::BTreeSet::new();
        for commit in &commits {
            let one = drawn(commit, &names);
            assert_eq!(one, drawn(commit, &names));
            assert_eq!(one.len(), 1);
            all.extend(one);
        }
        assert_eq!(all.len(), names.len(), "each is drawn by some commit");
        assert_eq!(drawn("seed", &[]), Vec::<String>::new());
    }

    #[test]
    fn the_plan_says_what_runs_and_why() {
        let entries = [
            entry("docs", RunDecision::Unchanged("2026-01-02, abc".to_owned())),
            entry("chip", RunDecision::Run("code changed since 2026-01-02, abc".to_owned())),
            entry("lab", RunDecision::Drawn("2026-01-02, abc".to_owned())),
            PlanEntry {
                times: 3,
                ..entry("slow", RunDecision::Run("no pass is recorded".to_owned()))
            },
        ];
        let mut printed = Vec::new();
        print(&entries, &mut printed);
        let printed = String::from_utf8(printed).unwrap();
        for line in [
            "docs: unchanged since 2026-01-02, abc",
            "chip: runs: code changed since 2026-01-02, abc",
            "lab: runs, drawn by lot: unchanged since 2026-01-02, abc",
            "slow: runs 3 times, because it failed: no pass is recorded",
            "3 of 4 run; their last passes took 6 s, those of the others 2 s",
        ] {
            assert!(printed.contains(line), "{line} in {printed}");
        }
    }
}
