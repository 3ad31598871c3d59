//! What a journal reports, read to its end.

use std::collections::BTreeMap;
use std::rc::Rc;

use fairways_command_kit::BadInput;
use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, Partition, Time, WayMask, Ways};
use fairways_record::journal::{Follower, Reader, Step};
use fairways_record::status::TrackedPlan;
use serde_json::Value;

use super::programs::{ProgramIndex, Programs};

/// A partition, and the time for which it was in force.
#[derive(Debug)]
pub(super) struct PlanSpan {
    /// The first and the last plan with these clusters.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) content: Rc<PlanContent>,
}

/// The content of a plan; consecutive plans with the same content share it.
#[derive(Debug, PartialEq)]
pub(super) struct PlanContent {
    pub(super) clusters: Vec<(WayMask, Vec<ProgramIndex>)>,
    /// The planned clusters, where others are in force.
    pub(super) planned: Option<Vec<(WayMask, Vec<ProgramIndex>)>>,
    pub(super) reason: String,
}

/// A program's class from a time on.
#[derive(Debug)]
pub(super) struct ClassSpan {
    pub(super) at: Time,
    pub(super) program: ProgramIndex,
    pub(super) class: String,
    pub(super) reason: String,
}

/// The whole story.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) policy: String,
    pub(super) machine: Value,
    pub(super) is_cut_short: bool,
    /// Whether its plans were not carried out.
    pub(super) is_observed: bool,
    /// The part with which the story begins: not 0 where the first parts were deleted.
    pub(super) part: u32,
    pub(super) ways: Option<Ways>,
    pub(super) begin: Time,
    /// When the journal's clock was 0, by the time of day; `None` for a simulated machine.
    pub(super) began: Option<Moment>,
    pub(super) end: Time,
    pub(super) programs: Programs,
    pub(super) plans: Vec<PlanSpan>,
    pub(super) made: u64,
    pub(super) refused: u64,
    pub(super) classes: Vec<ClassSpan>,
    /// The numbers of events and actions, by their names.
    pub(super) counts: BTreeMap<(&'static str, &'static str), u64>,
}

/// Reads a journal to its end.
pub(super) fn read(reader: Reader) -> Result<Story, BadInput> {
    let mut follower = Follower::new(reader)?;
    let header = follower.header();
    let (policy, machine) = (header.policy.clone(), header.machine.clone());
    let mut story = Story {
        programs: Programs::new(&machine, header.part == 0),
        part: header.part,
        began: header.began(),
        policy,
        machine,
        is_cut_short: false,
        is_observed: header.is_observed(),
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
    while let Some(step) = follower.step()? {
        if step.at < story.end {
            let place = follower.location();
            return Err(BadInput(format!("{place}: expected a time after the lines before it")));
        }
        if is_first && story.part > 0 {
            story.begin = step.at;
        }
        is_first = false;
        story.end = step.at;
        story.step(&step, follower.in_force());
    }
    story.is_cut_short = follower.is_cut_short();
    let totals = &follower.record.totals;
    story.refused = totals.refused;
    story.settle();
    Ok(story)
}

impl Story {
    /// Adds a step, after which this plan is in force.
    fn step(&mut self, step: &Step, in_force: Option<&TrackedPlan>) {
        let at = step.at;
        *self.counts.entry(("event", step.event.kind())).or_default() += 1;
        match &step.event {
            Event::Machine(levers) => {
                let ways = levers.llc.ways;
                self.ways = Some(self.ways.map_or(ways, |before| before.max(ways)));
            }
            Event::Started { app, profile, .. } => {
                self.programs.start(at, *app, step.name.as_deref(), profile.as_deref());
            }
            Event::Exited { app } => self.programs.exit(at, *app),
            Event::Sampled(sample) => self.programs.add_window(sample),
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
                let program = self.programs.index_of(*app);
                let (class, reason) = (class.to_string(), reason.to_string());
                self.programs.set_class(program, class.clone(), reason.clone());
                self.classes.push(ClassSpan { at, program, class, reason });
            }
        }
    }

    fn plan(&mut self, at: Time, plan: &TrackedPlan) {
        let programs = &mut self.programs;
        let mut clusters = |partition: &Partition| -> Vec<(WayMask, Vec<ProgramIndex>)> {
            let masks = (0..).zip(partition.masks());
            masks
                .map(|(cluster, mask)| {
                    let mut apps: Vec<ProgramIndex> =
                        partition.members(cluster).map(|app| programs.index_of(app)).collect();
                    apps.sort_unstable();
                    (mask, apps)
                })
                .collect()
        };
        let is_otherwise = !self.is_observed && !plan.actual.agrees_with(&plan.planned);
        let planned = is_otherwise.then(|| clusters(&plan.planned));
        let shown = if self.is_observed { &plan.planned } else { &plan.actual };
        let what = PlanContent { clusters: clusters(shown), planned, reason: plan.reason.clone() };
        let before = self.plans.last().map(|before| Rc::clone(&before.content));
        let what = before.filter(|before| **before == what).unwrap_or_else(|| Rc::new(what));
        let (first, last) = (plan.plan.0, plan.plan.0);
        self.plans.push(PlanSpan { first, last, from: at, to: at, content: what });
    }

    /// Ends every plan at the next one, and merges consecutive plans with the same content.
    fn settle(&mut self) {
        let ends = self.plans.iter().skip(1).map(|plan| plan.from).chain([self.end]);
        let ends: Vec<Time> = ends.collect();
        for (plan, end) in self.plans.iter_mut().zip(ends) {
            plan.to = end;
        }
        // A plan that was replaced at once is dropped; the last one stays.
        let last = self.plans.last().map(|plan| plan.first);
        self.plans.retain(|plan| plan.from < plan.to || Some(plan.first) == last);
        self.plans.dedup_by(|plan, before| {
            let is_same = plan.content == before.content;
            if is_same {
                (before.last, before.to) = (plan.last, plan.to);
            }
            is_same
        });
    }

    /// How often the clusters changed.
    pub(super) fn changes(&self) -> usize {
        let plans = self.plans.windows(2);
        plans.filter(|pair| pair[0].content.clusters != pair[1].content.clusters).count()
    }
}
