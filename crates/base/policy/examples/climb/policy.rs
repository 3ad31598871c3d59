//! `climb`: moves a way from the program that misses least to the one that misses most, and keeps
//! it there if all programs together then miss less.
//!
//! All programs begin with the same number of ways. In each round, half a second of every program,
//! misses per 1000 cycles are added up. Then one way is moved, and the next round judges it: if the
//! sum has fallen by [`GAIN_PERCENT`], the way stays. Otherwise it goes back, and the program that
//! had got it is not tried again for [`REST`] rounds.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Llc, Partition, PlanId, Policy, Sample, WindowLength,
};
use fairways_core::{Time, WayMask};

/// The length of a window.
const WINDOW: Duration = Duration::from_millis(500);
/// How much a move has to gain.
const GAIN_PERCENT: u128 = 2;
/// Rounds in which a program is not tried again that a way did not help.
const REST: u32 = 20;

/// A program, its ways, its misses in the last window (`None` until they are known), and the rounds
/// for which it rests.
struct Program {
    app: AppId,
    ways: u32,
    misses: Option<u64>,
    rest: u32,
}

/// A way that was moved, and the sum of misses before.
struct Move {
    from: AppId,
    to: AppId,
    before: u128,
}

/// The policy.
#[derive(Default)]
pub(crate) struct Climb {
    llc: Option<Llc>,
    programs: Vec<Program>,
    tried: Option<Move>,
    /// Whether the last plan was refused and was no trial.
    must_repeat: bool,
    plan: PlanId,
}

impl Policy for Climb {
    fn name(&self) -> &'static str {
        "climb"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Machine(Levers { llc, .. }) => self.llc = Some(*llc),
            Event::Started { app, .. } if self.find(*app).is_none() => {
                self.programs.push(Program { app: *app, ways: 0, misses: None, rest: 0 });
                act(Action::Watch { app: *app, every: WindowLength::Time(WINDOW) });
            }
            Event::Exited { app } => self.programs.retain(|program| program.app != *app),
            Event::Sampled(sample) => return self.sampled(sample, act),
            // The plan before is in force: a way on trial was not moved; any other plan is made
            // again.
            Event::Refused { plan, .. } if plan.next() == self.plan => {
                self.must_repeat = self.tried.is_none();
                return self.take_back();
            }
            _ => return,
        }
        self.begin(act);
    }
}

impl Climb {
    fn find(&mut self, app: AppId) -> Option<&mut Program> {
        self.programs.iter_mut().find(|program| program.app == app)
    }

    /// Gives every program the same number of ways; the first ones get the odd ways.
    fn begin(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        (self.tried, self.must_repeat) = (None, false);
        let Some(llc) = self.llc else { return };
        if self.programs.is_empty() && self.plan == PlanId::default() {
            return;
        }
        let count = u32::try_from(self.programs.len()).unwrap_or(u32::MAX).max(1);
        let (each, odd) = (llc.ways.get() / count, llc.ways.get() % count);
        for (place, program) in (0..).zip(&mut self.programs) {
            program.ways = each + u32::from(place < odd);
        }
        self.divide("every program has the same number of ways", act);
    }

    /// Handles a window. A window that began under another plan counts for nothing, and neither
    /// does one without misses or cycles: a counter that could not be read is missing, and never 0.
    fn sampled(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let Some(misses) = sample.counters.llcmpkc().filter(|_| !sample.straddled) else { return };
        if let Some(program) = self.find(sample.app) {
            program.misses = Some(misses.raw());
        }
        let all = self.programs.iter().map(|program| program.misses.map(u128::from));
        if let Some(sum) = all.sum::<Option<u128>>() {
            self.round(sum, act);
        }
    }

    /// The misses of all programs are known: judges the last move, and tries the next.
    fn round(&mut self, sum: u128, act: &mut dyn FnMut(Action<'_>)) {
        for program in &mut self.programs {
            program.rest = program.rest.saturating_sub(1);
        }
        if std::mem::take(&mut self.must_repeat) {
            return self.divide("the last plan was refused: it is made again", act);
        }
        let most_percent = 100 - GAIN_PERCENT;
        if self.tried.as_ref().is_some_and(|tried| sum * 100 > tried.before * most_percent) {
            self.take_back();
            return self.divide("it did not help: the way goes back", act);
        }
        self.tried = None;
        let Some(llc) = self.side_by_side() else { return self.forget() };
        let rested = self.programs.iter().filter(|program| program.rest == 0);
        let to = rested.max_by_key(|program| program.misses).map(|program| program.app);
        let Some(to) = to else { return self.forget() };
        let givers = self.programs.iter().filter(|program| program.ways > llc.min_ways());
        let givers = givers.filter(|program| program.app != to);
        let from = givers.min_by_key(|program| program.misses).map(|program| program.app);
        let Some(from) = from else { return self.forget() };
        self.shift(from, to);
        self.tried = Some(Move { from, to, before: sum });
        self.divide("one more way is tried for the program that misses most", act);
    }

    fn take_back(&mut self) {
        let Some(Move { from, to, .. }) = self.tried.take() else { return };
        self.shift(to, from);
        if let Some(program) = self.find(to) {
            program.rest = REST;
        }
    }

    fn shift(&mut self, from: AppId, to: AppId) {
        for program in &mut self.programs {
            program.ways -= u32::from(program.app == from);
            program.ways += u32::from(program.app == to);
        }
    }

    /// Forgets the misses: the next round needs new windows.
    fn forget(&mut self) {
        self.programs.iter_mut().for_each(|program| program.misses = None);
    }

    /// The cache, if every program can have ways of its own in it.
    fn side_by_side(&self) -> Option<Llc> {
        let llc = self.llc?;
        let wide = self.programs.iter().all(|program| program.ways >= llc.min_ways());
        (wide && self.programs.len() <= llc.max_clusters() as usize).then_some(llc)
    }

    /// Lays ways side by side; where that is not possible, one cluster of all programs.
    fn divide(&mut self, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        self.forget();
        let mut partition = Partition::default();
        if self.side_by_side().is_some() {
            let mut lowest = 0;
            for program in &self.programs {
                let cluster = partition.add_cluster(WayMask::span(lowest, program.ways));
                partition.place(program.app, cluster);
                lowest += program.ways;
            }
        } else if let Some(llc) = self.llc.filter(|_| !self.programs.is_empty()) {
            let cluster = partition.add_cluster(WayMask::full(llc.ways));
            partition.place_all(self.programs.iter().map(|program| program.app), cluster..=cluster);
        }
        act(Action::Partition {
            plan: self.plan,
            partition: partition.into(),
            reason: reason.into(),
        });
        self.plan = self.plan.next();
    }
}
