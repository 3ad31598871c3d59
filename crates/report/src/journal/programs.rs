//! Who is who in a journal, and what each did.

use std::collections::BTreeMap;

use fairways_core::{AppId, Counters, Profile, Q32, Sample, Time};
use fairways_record::status::Counted;
use serde_json::Value;

/// A program, all its runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Program(pub(super) usize);

/// What a program did, in all its runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Did {
    pub(super) runs: u64,
    pub(super) counted: Counted,
    /// Windows of which a reading is missing that is shown here.
    pub(super) incomplete: u64,
    /// What the policy held it to be in the end, and why.
    pub(super) class: Option<(String, String)>,
}

/// The programs of a journal.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Those of the header, where it says which of them starts when: on a simulated machine all start in order, and one that
    /// ends starts again at once.
    named: Option<Vec<String>>,
    /// Whether the journal has its first part; if not, those that started in it have the ids of their places.
    is_whole: bool,
    of: BTreeMap<AppId, Program>,
    names: Vec<String>,
    numbers: Vec<AppId>,
    pub(super) did: Vec<Did>,
    pub(super) told: Vec<Option<Profile>>,
    /// Who ended last, and when.
    ended: Option<(Time, Program)>,
}

impl Programs {
    pub(super) fn new(machine: &Value, is_whole: bool) -> Self {
        let names = machine["programs"].as_array().map(|names| {
            names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
        });
        let is_host = machine["kind"] == "host";
        Self { named: names.filter(|_| !is_host), is_whole, ..Self::default() }
    }

    pub(super) fn started(
        &mut self,
        at: Time,
        app: AppId,
        name: Option<&str>,
        profile: Option<&Profile>,
    ) {
        let again = self.ended.take().filter(|(ended, _)| *ended == at && self.named.is_some());
        let program = again.map_or_else(|| self.begin(app, name), |(_, program)| program);
        self.of.insert(app, program);
        self.told[program.0] = profile.cloned();
    }

    /// A program that was not there before, and what the line of its start calls it.
    fn begin(&mut self, app: AppId, name: Option<&str>) -> Program {
        let place = self.names.len();
        let started =
            if self.is_whole { place } else { usize::try_from(app.0).unwrap_or(usize::MAX) };
        let named = self.named.as_ref().and_then(|names| names.get(started));
        let number = named.and_then(|_| u32::try_from(started).ok()).unwrap_or(app.0);
        let name = named.map(String::as_str).or(name);
        let name = name.map_or_else(|| app.to_string(), |name| format!("{number} {name}"));
        self.numbers.push(AppId(number));
        self.names.push(name);
        self.did.push(Did::default());
        self.told.push(None);
        Program(place)
    }

    pub(super) fn exited(&mut self, at: Time, app: AppId) {
        let program = self.find(app);
        self.did[program.0].runs += 1;
        self.ended = Some((at, program));
    }

    pub(super) fn sampled(&mut self, sample: &Sample) {
        let program = self.find(sample.app);
        let did = &mut self.did[program.0];
        did.counted.sampled(sample);
        let Counters { instructions, cycles, llc_misses, .. } = sample.counters;
        let shown = [instructions, cycles, llc_misses, sample.occupancy.map(Q32::raw)];
        did.incomplete += u64::from(shown.contains(&None));
    }

    pub(super) fn classified(&mut self, program: Program, class: String, reason: String) {
        self.did[program.0].class = Some((class, reason));
    }

    /// Which program an app is; one that never started is one of its own.
    pub(super) fn find(&mut self, app: AppId) -> Program {
        if let Some(program) = self.of.get(&app) {
            return *program;
        }
        if self.is_whole {
            self.named = None;
        }
        let program = self.begin(app, None);
        self.of.insert(app, program);
        program
    }

    pub(super) fn name(&self, program: Program) -> &str {
        &self.names[program.0]
    }

    /// The number in its name.
    pub(super) fn number(&self, program: Program) -> AppId {
        self.numbers[program.0]
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}
