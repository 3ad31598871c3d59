//! What a journal tells.

use std::collections::BTreeMap;
use std::rc::Rc;

use fairways_command_kit::BadInput;
use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, Partition, Time, WayMask, Ways};
use fairways_record::journal::{Followed, Reader, Step};
use fairways_record::status::InForce;
use serde_json::Value;

use super::programs::{Program, Programs};

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
    /// What was planned, where that is not what is in force.
    pub(super) planned: Option<Vec<(WayMask, Vec<Program>)>>,
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
    pub(super) counts: BTreeMap<(&'static str, &'static str), u64>,
}

/// Reads it to its end.
pub(super) fn read(reader: Reader) -> Result<Story, BadInput> {
    let mut followed = Followed::new(reader)?;
    let header = followed.header();
    let (policy, machine) = (header.policy.clone(), header.machine.clone());
    let mut story = Story {
        programs: Programs::new(&machine, header.part == 0),
        part: header.part,
        began: header.began(),
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
    while let Some(step) = followed.step()? {
        if step.at < story.end {
            let place = followed.place();
            return Err(BadInput(format!("{place}: expected a time after the lines before it")));
        }
        if is_first && story.part > 0 {
            story.begin = step.at;
        }
        is_first = false;
        story.end = step.at;
        story.step(&step, followed.in_force());
    }
    story.cut_short = followed.cut_short();
    let totals = &followed.watched.totals;
    story.refused = totals.refused;
    story.settle();
    Ok(story)
}

impl Story {
    /// Something happened, after which this is in force.
    fn step(&mut self, step: &Step, in_force: Option<&InForce>) {
        let at = step.at;
        *self.counts.entry(("event", step.event.kind())).or_default() += 1;
        match &step.event {
            Event::Machine(levers) => {
                let ways = levers.llc.ways;
                self.ways = Some(self.ways.map_or(ways, |before| before.max(ways)));
            }
            Event::Started { app, profile, .. } => {
                self.programs.started(at, *app, step.name.as_deref(), profile.as_deref());
            }
            Event::Exited { app } => self.programs.exited(at, *app),
            Event::Sampled(sample) => self.programs.sampled(sample),
            Event::Applied { .. } => {
                if let Some(in_force) = in_force {
                    self.plan(at, in_force);
                }
            }
            _ => {}
        }
        for action in &step.actions {
            *self.counts.entry(("action", action.kind())).or_default() += 1;
            self.made += u64::from(matches!(action, Action::Partition { .. }));
            if let Action::Classified { app, class, reason } = action {
                let program = self.programs.find(*app);
                let (class, reason) = (class.to_string(), reason.to_string());
                self.programs.classified(program, class.clone(), reason.clone());
                self.classes.push(Class { at, program, class, reason });
            }
        }
    }

    fn plan(&mut self, at: Time, of: &InForce) {
        let programs = &mut self.programs;
        let mut clusters = |of: &Partition| -> Vec<(WayMask, Vec<Program>)> {
            let masks = (0..).zip(of.masks());
            let cluster = |(cluster, mask)| {
                let mut apps: Vec<Program> =
                    of.members(cluster).map(|app| programs.find(app)).collect();
                apps.sort_unstable();
                (mask, apps)
            };
            masks.map(cluster).collect()
        };
        let planned = (!of.actual.agrees_with(&of.planned)).then(|| clusters(&of.planned));
        let what = What { clusters: clusters(&of.actual), planned, reason: of.reason.clone() };
        let before = self.plans.last().map(|before| Rc::clone(&before.what));
        let what = before.filter(|before| **before == what).unwrap_or_else(|| Rc::new(what));
        let (first, last) = (of.plan.0, of.plan.0);
        self.plans.push(Plan { first, last, from: at, to: at, what });
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
}
