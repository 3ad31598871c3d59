//! Identifies the programs of a journal, and sums up their counts.

use std::collections::BTreeMap;

use fairways_core::{AppId, Counters, Profile, Q32, Sample, Time};
use fairways_record::status::ProgramTotals;
use serde_json::Value;

/// A program; all its runs count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProgramIndex(pub(super) usize);

/// The sums over all runs of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramSummary {
    pub(super) runs: u64,
    pub(super) totals: ProgramTotals,
    /// Windows that lack a reading which the report shows.
    pub(super) incomplete: u64,
    /// The last class and its reason.
    pub(super) class: Option<(String, String)>,
}

/// The programs of a journal.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// The names in the header, where it states which program starts when: on a simulated machine
    /// all start in order, and one that ends starts again at once.
    named: Option<Vec<String>>,
    /// Whether the journal has its first part; without it, the ids of apps are their places in the
    /// header.
    is_whole: bool,
    by_app: BTreeMap<AppId, ProgramIndex>,
    names: Vec<String>,
    numbers: Vec<AppId>,
    pub(super) summaries: Vec<ProgramSummary>,
    pub(super) profiles: Vec<Option<Profile>>,
    /// The program that ended last, and when.
    ended: Option<(Time, ProgramIndex)>,
}

impl Programs {
    pub(super) fn new(machine: &Value, is_whole: bool) -> Self {
        let names = machine["programs"].as_array().map(|names| {
            names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
        });
        let is_host = machine["kind"] == "host";
        Self { named: names.filter(|_| !is_host), is_whole, ..Self::default() }
    }

    pub(super) fn start(
        &mut self,
        at: Time,
        app: AppId,
        name: Option<&str>,
        profile: Option<&Profile>,
    ) {
        let again = self.ended.take().filter(|(ended, _)| *ended == at && self.named.is_some());
        let program = again.map_or_else(|| self.begin(app, name), |(_, program)| program);
        self.by_app.insert(app, program);
        self.profiles[program.0] = profile.cloned();
    }

    /// Adds a program; `name` is that of its start's line.
    fn begin(&mut self, app: AppId, name: Option<&str>) -> ProgramIndex {
        let place = self.names.len();
        let started =
            if self.is_whole { place } else { usize::try_from(app.0).unwrap_or(usize::MAX) };
        let named = self.named.as_ref().and_then(|names| names.get(started));
        let number = named.and_then(|_| u32::try_from(started).ok()).unwrap_or(app.0);
        let name = named.map(String::as_str).or(name);
        let name = name.map_or_else(|| app.to_string(), |name| format!("{number} {name}"));
        self.numbers.push(AppId(number));
        self.names.push(name);
        self.summaries.push(ProgramSummary::default());
        self.profiles.push(None);
        ProgramIndex(place)
    }

    pub(super) fn exit(&mut self, at: Time, app: AppId) {
        let program = self.index_of(app);
        self.summaries[program.0].runs += 1;
        self.ended = Some((at, program));
    }

    pub(super) fn add_window(&mut self, sample: &Sample) {
        let program = self.index_of(sample.app);
        let did = &mut self.summaries[program.0];
        did.totals.add_window(sample);
        let Counters { instructions, cycles, llc_misses, .. } = sample.counters;
        let shown = [instructions, cycles, llc_misses, sample.occupancy.map(Q32::raw)];
        did.incomplete += u64::from(shown.contains(&None));
    }

    pub(super) fn set_class(&mut self, program: ProgramIndex, class: String, reason: String) {
        self.summaries[program.0].class = Some((class, reason));
    }

    /// The program of an app; an app that never started is a program of its own.
    pub(super) fn index_of(&mut self, app: AppId) -> ProgramIndex {
        if let Some(program) = self.by_app.get(&app) {
            return *program;
        }
        if self.is_whole {
            self.named = None;
        }
        let program = self.begin(app, None);
        self.by_app.insert(app, program);
        program
    }

    pub(super) fn name(&self, program: ProgramIndex) -> &str {
        &self.names[program.0]
    }

    /// The number in the program's name.
    pub(super) fn number(&self, program: ProgramIndex) -> AppId {
        self.numbers[program.0]
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}
