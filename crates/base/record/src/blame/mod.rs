//! `fairways blame`: what each program loses to its neighbours, and which of them cause it.

mod journal;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::time::Duration;

use fairways_attribution::{Attribution, Bounds, Caused, Loss, RecentAttribution, Remedy, Unknown};
use fairways_core::{AppId, Q32, Time};
use serde::{Deserialize, Serialize};

pub use journal::{JournalSpan, KnownLatency, of_journal};

use crate::status::Status;

/// Changes when a field is removed or changes its meaning; new fields do not change it.
const SCHEMA: u32 = 2;

/// Recent losses cover at least this span, and at most twice as much.
pub const LATE: Duration = Duration::from_secs(30);

/// The most victims for which remedies are searched.
const MOST_REMEDIES: usize = 8;

/// What programs lose over a span of time, and to which neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlameReport {
    schema: u32,
    /// The domain, if the losses are recent ones; absent for a span of a journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<u32>,
    policy: String,
    /// The span on the machine's clock.
    from_seconds: f64,
    to_seconds: f64,
    /// Whether occupancies can't be read, and are estimated from misses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimates_occupancies: bool,
    /// The part of the machine's CPU time that a hypervisor took; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    stolen: Option<f64>,
    /// The programs, by loss, the largest first.
    programs: Vec<Victim>,
    /// The neighbours that cause losses, by their sum, the largest first.
    culprits: Vec<Culprit>,
}

/// What a program loses. The parts are in units of its time alone: the slowdown, or its known
/// minimum, is 1 plus their sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Victim {
    #[serde(skip)]
    app: u32,
    program: String,
    /// Its cycles divided by those that it would take alone with the whole cache; `null` if that is
    /// not known: the interval is wider than 30 % of it.
    slowdown: Option<f64>,
    /// The slowdown's known minimum if `slowdown` is `null`: 1 plus the sum of the parts. Absent if
    /// `slowdown` is not `null`, or the minimum is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    slowdown_at_least: Option<f64>,
    /// The best guess.
    #[serde(skip)]
    guess: f64,
    /// The interval of the slowdown.
    least: f64,
    most: f64,
    /// Lost to the lines of others in ways that it may fill.
    lines: f64,
    /// Lost because it may not fill all ways.
    ways: f64,
    /// Lost to the memory bus.
    bus: f64,
    /// Lost for an unknown reason.
    unexplained: f64,
    /// Seconds that its threads waited for a CPU, for each second that they ran; not part of the
    /// slowdown. Absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_wait: Option<f64>,
    /// The neighbour that costs it most; absent if it loses too little to blame one.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<String>,
    /// What would help it against that neighbour; absent if nothing would, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<OwnWays>,
    /// What each neighbour costs it, the most first.
    by: Vec<CausedPart>,
    /// What was not measured of it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<NotSeen>,
}

/// Ways of its own for a victim. Each gain or loss is in units of the time alone of the program
/// that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct OwnWays {
    ways: u32,
    /// What the victim gains, with the interval.
    saves: f64,
    saves_least: f64,
    saves_most: f64,
    /// What the worst culprit loses, with the interval; and what all others lose, added up.
    costs: f64,
    costs_least: f64,
    costs_most: f64,
    costs_others: f64,
    /// Whether the victim was never seen with as many ways.
    is_guess: bool,
}

/// What a neighbour costs a victim, in units of the victim's time alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CausedPart {
    program: String,
    cache: f64,
    bus: f64,
}

/// What a neighbour costs all the programs that blame any neighbour, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Culprit {
    program: String,
    costs: f64,
}

/// What a culprit costs a victim by the cache, or by the bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CausedLoss<'a> {
    /// The domain, if the losses are recent ones; `None` for a span of a journal.
    pub domain: Option<u32>,
    /// The program that loses.
    pub victim: &'a str,
    /// The neighbour.
    pub culprit: &'a str,
    /// The shared resource: `cache` or `bus`.
    pub part: &'static str,
    /// In units of the victim's time alone.
    pub loss: f64,
}

/// How many times longer a program took than alone with the whole cache.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Slowdown {
    /// Not known; it may lose nothing.
    Unknown,
    /// At least this.
    AtLeast(f64),
    /// This.
    Known(f64),
}

/// What was not measured of a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NotSeen {
    /// Its misses with more ways than these.
    MoreWaysThan(f64),
    /// The cost of its misses while the bus is idle.
    IdleBus,
}

impl BlameReport {
    /// The losses from `from` to `to`, with names for programs.
    pub fn new(
        attribution: &Attribution,
        policy: &str,
        [from, to]: [Time; 2],
        name: impl Fn(AppId) -> String,
    ) -> Self {
        let names = DistinctNames::new(attribution, name);
        let mut programs: Vec<Victim> =
            attribution.losses().map(|loss| Victim::new(attribution, loss, &names)).collect();
        programs.sort_by(|one, other| other.guess.total_cmp(&one.guess));
        let culprits = culprits(&programs);
        let [from_seconds, to_seconds] = [from, to].map(|at| at.nanos() as f64 / 1e9);
        let policy = policy.to_owned();
        let (schema, domain, stolen) = (SCHEMA, None, None);
        let estimates_occupancies = attribution.is_estimating();
        Self {
            schema,
            domain,
            policy,
            from_seconds,
            to_seconds,
            estimates_occupancies,
            stolen,
            programs,
            culprits,
        }
    }

    /// The recent losses in a domain of this machine, until now.
    #[must_use]
    pub fn of_late(losses: &RecentAttribution, status: &Status, domain: u32, now: Time) -> Self {
        let losses = losses.recent();
        let span = [losses.since(), now];
        let report = Self::new(losses, &status.policy, span, |AppId(app)| {
            let mut programs = status.programs.iter();
            let known = programs.find(|of| (of.domain, of.app) == (domain, app));
            known.map_or_else(|| format!("program {app}"), |of| of.name.clone())
        });
        Self { domain: Some(domain), ..report }
    }

    /// Adds what would help the victims that lose most.
    #[must_use]
    pub fn with_remedies(mut self, attribution: &Attribution) -> Self {
        let victims = self.programs.iter_mut().filter(|victim| victim.worst.is_some());
        for victim in victims.take(MOST_REMEDIES) {
            let loss = attribution.losses().find(|loss| loss.app.0 == victim.app);
            let remedy = loss.and_then(|loss| attribution.remedy(loss));
            victim.remedy = remedy.map(OwnWays::new);
        }
        self
    }

    /// Adds how long each program waited for a CPU, per second that it ran, and the part of the
    /// machine's CPU time that a hypervisor took.
    #[must_use]
    pub fn with_waits(
        mut self,
        cpu_wait: impl Fn(AppId) -> Option<f64>,
        stolen: Option<f64>,
    ) -> Self {
        for victim in &mut self.programs {
            victim.cpu_wait = cpu_wait(AppId(victim.app)).map(to_four_places);
        }
        self.stolen = stolen.map(to_four_places);
        self
    }

    /// Whether no program had a window with the counters that losses need.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether these are the recent losses of this domain.
    #[must_use]
    pub fn is_of_domain(&self, domain: u32) -> bool {
        self.domain == Some(domain)
    }

    /// The slowdown of a program; `None` if it had no window with the counters that losses need.
    #[must_use]
    pub fn slowdown(&self, program: &str) -> Option<Slowdown> {
        self.programs.iter().find(|victim| victim.program == program).map(Victim::shown_slowdown)
    }

    /// The neighbour that costs a program most, and how much; `None` if none is blamed.
    #[must_use]
    pub fn worst_culprit(&self, program: &str) -> Option<(&str, f64)> {
        let victim = self.programs.iter().find(|victim| victim.program == program)?;
        let worst = victim.worst.as_deref()?;
        Some((worst, victim.to(worst)))
    }

    /// What each program loses and to which neighbours, a sentence for each.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.programs.iter().map(text::sentence)
    }

    /// What each neighbour costs each program that loses enough to blame one.
    pub fn caused(&self) -> impl Iterator<Item = CausedLoss<'_>> {
        let victims = self.programs.iter().filter(|victim| victim.worst.is_some());
        victims.flat_map(|of| of.by.iter().map(move |by| (of, by))).flat_map(|(of, by)| {
            [("cache", by.cache), ("bus", by.bus)].map(|(part, loss)| CausedLoss {
                domain: self.domain,
                victim: &of.program,
                culprit: &by.program,
                part,
                loss,
            })
        })
    }

    /// Writes one JSON object and a newline, or tables for people.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn print(&self, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            writeln!(out)?;
        } else {
            text::print(self, out)?;
        }
        Ok(out.flush()?)
    }
}

impl Victim {
    fn new(attribution: &Attribution, loss: Loss, names: &DistinctNames) -> Self {
        let Bounds { least, likely, most } = loss.slowdown;
        let (guessed, is_known) = (loss, loss.is_known());
        let loss = if is_known { loss } else { loss.at_least() };
        let at_least = (!is_known && least > Q32::ONE).then(|| number(least));
        let mut by: Vec<CausedPart> = attribution
            .caused(loss)
            .map(|Caused { culprit, cache, bus }| CausedPart {
                program: names.get(culprit),
                cache: number(cache),
                bus: number(bus),
            })
            .collect();
        by.sort_by(|one, other| other.total().total_cmp(&one.total()));
        Self {
            app: loss.app.0,
            program: names.get(loss.app),
            slowdown: is_known.then(|| number(likely)),
            slowdown_at_least: at_least,
            guess: number(likely),
            least: number(least),
            most: number(most),
            lines: number(loss.lines),
            ways: number(loss.ways),
            bus: number(loss.bus),
            unexplained: number(loss.unexplained),
            cpu_wait: None,
            worst: attribution.worst_culprit(guessed).map(|worst| names.get(worst.culprit)),
            remedy: None,
            by,
            unknown: loss.unknown.map(|unknown| match unknown {
                Unknown::LargerSizes(ways) => NotSeen::MoreWaysThan(number(ways)),
                Unknown::IdleBus => NotSeen::IdleBus,
            }),
        }
    }
}

impl OwnWays {
    fn new(found: Remedy) -> Self {
        let Remedy { ways, saves, costs, costs_others, is_guess, .. } = found;
        Self {
            ways,
            saves: number(saves.likely),
            saves_least: number(saves.least),
            saves_most: number(saves.most),
            costs: number(costs.likely),
            costs_least: number(costs.least),
            costs_most: number(costs.most),
            costs_others: number(costs_others),
            is_guess,
        }
    }
}

/// Names by which programs can be distinguished: of several with the same name, the second is
/// `NAME#2`.
struct DistinctNames(Vec<(AppId, String)>);

impl DistinctNames {
    fn new(attribution: &Attribution, name: impl Fn(AppId) -> String) -> Self {
        let mut names: Vec<(AppId, String)> = Vec::new();
        let mut counts = BTreeMap::new();
        for app in attribution.programs() {
            let name = name(app);
            let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
            names.push((app, if *count == 1 { name } else { format!("{name}#{count}") }));
        }
        Self(names)
    }

    fn get(&self, app: AppId) -> String {
        let known = self.0.iter().find(|(one, _)| *one == app);
        known.map_or_else(|| format!("program {}", app.0), |(_, name)| name.clone())
    }
}

/// A program that waits less than this for a CPU, per second that it runs, hardly waits.
const SHORT_WAIT: f64 = 0.05;

/// If the interval of the slowdown is at least this wide, the program's loss is not known.
const OPEN: f64 = 0.1;

impl fmt::Display for Slowdown {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(slowdown) => write!(to, "{slowdown:.2}"),
            Self::AtLeast(slowdown) => write!(to, "≥{slowdown:.2}"),
            Self::Unknown => write!(to, "unknown"),
        }
    }
}

impl Victim {
    fn shown_slowdown(&self) -> Slowdown {
        let at_least = self.slowdown_at_least.map_or(Slowdown::Unknown, Slowdown::AtLeast);
        self.slowdown.map_or(at_least, Slowdown::Known)
    }

    /// Whether the interval is so wide that the program's loss is not known.
    fn is_open(&self) -> bool {
        self.most - self.least >= OPEN
    }

    /// Whether it waits for a CPU, and for longer than its neighbours make it wait for cache and
    /// bus.
    fn is_starved(&self) -> bool {
        let wait = self.cpu_wait.unwrap_or_default();
        // Per second of its time alone: it ran as many times longer as its slowdown says.
        wait >= SHORT_WAIT
            && wait * self.slowdown.or(self.slowdown_at_least).unwrap_or(1.0)
                > self.lines + self.ways + self.bus
    }

    /// What it loses to a neighbour.
    fn to(&self, culprit: &str) -> f64 {
        self.by.iter().filter(|part| part.program == culprit).map(CausedPart::total).sum()
    }
}

impl CausedPart {
    fn total(&self) -> f64 {
        self.cache + self.bus
    }
}

/// What each neighbour costs the victims that blame a neighbour.
fn culprits(victims: &[Victim]) -> Vec<Culprit> {
    let mut culprits: Vec<Culprit> = Vec::new();
    for share in victims.iter().filter(|one| one.worst.is_some()).flat_map(|one| &one.by) {
        match culprits.iter_mut().find(|one| one.program == share.program) {
            Some(culprit) => culprit.costs += share.total(),
            None => culprits.push(Culprit { program: share.program.clone(), costs: share.total() }),
        }
    }
    culprits.sort_by(|one, other| other.costs.total_cmp(&one.costs));
    culprits
}

fn number(value: Q32) -> f64 {
    to_four_places(value.raw() as f64 / Q32::ONE.raw() as f64)
}

fn to_four_places(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
