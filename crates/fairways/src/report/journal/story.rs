//! What a journal tells.

use std::collections::BTreeMap;
use std::rc::Rc;

use fairways_core::{AppId, Event, PlanId, Time, WayMask, Ways};
use serde::Deserialize;
use serde_json::Value;

use super::programs::{Program, Programs};
use crate::BadInput;
use crate::journal::Reader;
use crate::moment::Moment;

/// A partition, and the time in which it held.
#[derive(Debug)]
pub(super) struct Plan {
    /// The first and the last plan that had these clusters.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) what: Rc<What>,
}

/// What a plan says; plans that follow each other and say the same have one.
#[derive(Debug, PartialEq)]
pub(super) struct What {
    pub(super) clusters: Vec<(WayMask, Vec<Program>)>,
    pub(super) reason: String,
}

/// A program's class from some time on.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) at: Time,
    pub(super) program: Program,
    pub(super) class: String,
    pub(super) reason: String,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) policy: String,
    pub(super) machine: Value,
    pub(super) cut_short: bool,
    /// Which part it begins with: not 0 where the first ones were deleted.
    pub(super) part: u32,
    pub(super) ways: Option<Ways>,
    pub(super) begin: Time,
    /// When the clock was 0, by the time of day; `None` of a simulated machine.
    pub(super) began: Option<Moment>,
    pub(super) end: Time,
    pub(super) programs: Programs,
    pub(super) plans: Vec<Plan>,
    pub(super) made: u64,
    pub(super) refused: u64,
    pub(super) classes: Vec<Class>,
    /// How many events and actions there are, by their names.
    pub(super) counts: BTreeMap<(&'static str, String), u64>,
}

#[derive(Deserialize)]
struct Partition {
    plan: PlanId,
    partition: Vec<Cluster>,
    reason: String,
}

#[derive(Deserialize)]
struct Cluster {
    mask: WayMask,
    apps: Vec<AppId>,
}

#[derive(Deserialize)]
struct Classified {
    app: AppId,
    class: String,
    reason: String,
}

/// Reads it to its end.
pub(super) fn read(mut reader: Reader) -> Result<Story, BadInput> {
    let (policy, machine) = (reader.header.policy.clone(), reader.header.machine.clone());
    let mut story = Story {
        programs: Programs::new(&machine, reader.header.part == 0),
        part: reader.header.part,
        began: reader.header.began(),
        policy,
        machine,
        cut_short: false,
        ways: None,
        begin: Time::ZERO,
        end: Time::ZERO,
        plans: Vec::new(),
        made: 0,
        refused: 0,
        classes: Vec::new(),
        counts: BTreeMap::new(),
    };
    let mut is_first = true;
    while let Some(line) = reader.next()? {
        if line.at < story.end {
            let place = reader.place();
            return Err(BadInput(format!("{place}: expected a time after the lines before it")));
        }
        if is_first && story.part > 0 {
            story.begin = line.at;
        }
        is_first = false;
        story.end = line.at;
        match (line.event, line.action) {
            (Some(event), None) => story.event(line.at, &event, line.name.as_deref()),
            (None, Some(action)) => story.action(line.at, action).map_err(|why| {
                BadInput(format!("{}: expected an action: {why}", reader.place()))
            })?,
            _ => {
                let place = reader.place();
                return Err(BadInput(format!("{place}: expected an event or an action")));
            }
        }
    }
    story.cut_short = reader.cut_short;
    story.settle();
    Ok(story)
}

impl Story {
    fn event(&mut self, at: Time, event: &Event, called: Option<&str>) {
        *self.counts.entry(("event", name(event).to_owned())).or_default() += 1;
        match event {
            Event::Machine(llc) => {
                self.ways = Some(self.ways.map_or(llc.ways, |ways| ways.max(llc.ways)))
            }
            Event::Started { app, profile, .. } => {
                self.programs.started(at, *app, called, profile.as_deref());
            }
            Event::Exited { app } => self.programs.exited(at, *app),
            Event::Sampled(sample) => self.programs.sampled(sample),
            Event::Refused { plan, .. } => self.refuse(*plan),
            _ => {}
        }
    }

    fn action(&mut self, at: Time, action: Value) -> Result<(), String> {
        let Value::Object(action) = action else { return Err("it is no object".into()) };
        for (name, value) in action {
            let wrong = |why: serde_json::Error| format!("{name}: {why}");
            match name.as_str() {
                "partition" => self.plan(at, serde_json::from_value(value).map_err(wrong)?),
                "classified" => {
                    let of: Classified = serde_json::from_value(value).map_err(wrong)?;
                    self.classify(at, of);
                }
                _ => {}
            }
            *self.counts.entry(("action", name)).or_default() += 1;
        }
        Ok(())
    }

    fn plan(&mut self, at: Time, Partition { plan, partition, reason }: Partition) {
        self.made += 1;
        let programs = &mut self.programs;
        let cluster = |of: Cluster| {
            let mut apps: Vec<Program> =
                of.apps.into_iter().map(|app| programs.find(app)).collect();
            apps.sort_unstable();
            (of.mask, apps)
        };
        let clusters: Vec<_> = partition.into_iter().map(cluster).collect();
        let what = What { clusters, reason };
        let before = self.plans.last().map(|before| Rc::clone(&before.what));
        let what = before.filter(|before| **before == what).unwrap_or_else(|| Rc::new(what));
        let (first, last) = (plan.0, plan.0);
        self.plans.push(Plan { first, last, from: at, to: at, what });
    }

    /// It never held, whatever was planned since.
    fn refuse(&mut self, plan: PlanId) {
        self.refused += 1;
        if let Some(place) = self.plans.iter().rposition(|of| of.first == plan.0) {
            self.plans.remove(place);
        }
    }

    /// Every plan held until the next one; those that say the same and follow each other are one.
    fn settle(&mut self) {
        let ends = self.plans.iter().skip(1).map(|plan| plan.from).chain([self.end]);
        let ends: Vec<Time> = ends.collect();
        for (plan, end) in self.plans.iter_mut().zip(ends) {
            plan.to = end;
        }
        // What held for no time at all gave way at once; the last one is what held in the end.
        let last = self.plans.last().map(|plan| plan.first);
        self.plans.retain(|plan| plan.from < plan.to || Some(plan.first) == last);
        self.plans.dedup_by(|plan, before| {
            let is_same = plan.what == before.what;
            if is_same {
                (before.last, before.to) = (plan.last, plan.to);
            }
            is_same
        });
    }

    /// How often it changed who may fill what.
    pub(super) fn changes(&self) -> usize {
        let plans = self.plans.windows(2);
        plans.filter(|pair| pair[0].what.clusters != pair[1].what.clusters).count()
    }

    fn classify(&mut self, at: Time, Classified { app, class, reason }: Classified) {
        let program = self.programs.find(app);
        self.programs.classified(program, class.clone(), reason.clone());
        self.classes.push(Class { at, program, class, reason });
    }
}

/// An event's name, as the journal has it.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Machine(_) => "machine",
        Event::Cpus(_) => "cpus",
        Event::Started { .. } => "started",
        Event::Wished { .. } => "wished",
        Event::Exited { .. } => "exited",
        Event::Sampled(_) => "sampled",
        Event::Latency(_) => "latency",
        Event::RanTogether(_) => "ran_together",
        Event::QuantumGiven(_) => "quantum_given",
        Event::Woke => "woke",
        Event::Refused { .. } => "refused",
    }
}
