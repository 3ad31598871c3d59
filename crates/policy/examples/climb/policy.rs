//! `climb`: a way at a time from who misses least to who misses most, kept where everybody together misses less for it.
//!
//! Everybody begins with the same number of ways. In each round, half a second of every program, misses per 1000 cycles are
//! added up. Then one way is moved, and the next round judges it: if the sum has fallen by [`GAIN_PERCENT`], the way stays;
//! otherwise it goes back, and who got it is not tried again for [`REST`] rounds.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Llc, Partition, PlanId, Policy, Sample, WindowLength,
};
use fairways_core::{Time, WayMask};

/// How long a window is.
const WINDOW: Duration = Duration::from_millis(500);
/// What a move has to bring.
const GAIN_PERCENT: u128 = 2;
/// Rounds in which nothing is tried on whom a way did not help.
const REST: u32 = 20;

/// A program, its ways, and what it missed in its last window; `None` until that is known.
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
    /// The last plan was refused, and was no trial.
    again: bool,
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
            // The plan before holds: a way on trial was not moved; anything else is asked for again.
            Event::Refused { plan, .. } if plan.next() == self.plan => {
                self.again = self.tried.is_none();
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

    /// Everybody has the same; what does not come out even, the first.
    fn begin(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        (self.tried, self.again) = (None, false);
        let Some(llc) = self.llc else { return };
        if self.programs.is_empty() && self.plan == PlanId::default() {
            return;
        }
        let count = u32::try_from(self.programs.len()).unwrap_or(u32::MAX).max(1);
        let (each, odd) = (llc.ways.get() / count, llc.ways.get() % count);
        for (place, program) in (0..).zip(&mut self.programs) {
            program.ways = each + u32::from(place < odd);
        }
        self.divide("everybody has the same number of ways", act);
    }

    /// A window ended. One that began under another plan tells nothing, and neither does one without misses or cycles: what
    /// could not be read is missing, and never 0.
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

    /// Everybody's misses are known: judges the last move, and tries the next.
    fn round(&mut self, sum: u128, act: &mut dyn FnMut(Action<'_>)) {
        for program in &mut self.programs {
            program.rest = program.rest.saturating_sub(1);
        }
        if std::mem::take(&mut self.again) {
            return self.divide("the last plan was refused: again", act);
        }
        let failed = |tried: &Move| sum * 100 > tried.before * (100 - GAIN_PERCENT);
        if self.tried.as_ref().is_some_and(failed) {
            self.take_back();
            return self.divide("it did not help: back", act);
        }
        self.tried = None;
        let Some(llc) = self.side_by_side() else { return self.forget() };
        let waits = |program: &&Program| program.rest == 0;
        let to = self.programs.iter().filter(waits).max_by_key(|program| program.misses);
        let Some(to) = to.map(|program| program.app) else { return self.forget() };
        let can_give = |program: &&Program| program.app != to && program.ways > llc.min_ways();
        let from = self.programs.iter().filter(can_give).min_by_key(|program| program.misses);
        let Some(from) = from.map(|program| program.app) else { return self.forget() };
        self.shift(from, to);
        self.tried = Some(Move { from, to, before: sum });
        self.divide("a way is tried on who misses most", act);
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

    /// The next round is of windows that are still to come.
    fn forget(&mut self) {
        self.programs.iter_mut().for_each(|program| program.misses = None);
    }

    /// The cache, if everybody can have ways of their own in it.
    fn side_by_side(&self) -> Option<Llc> {
        let llc = self.llc?;
        let wide = self.programs.iter().all(|program| program.ways >= llc.min_ways());
        (wide && self.programs.len() <= llc.max_clusters() as usize).then_some(llc)
    }

    /// Ways side by side; where that is not possible, one cluster of everybody.
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
