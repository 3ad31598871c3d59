//! How time passes: in turns, and while all is asleep as it does outside.

use std::time::{Duration, Instant};

use fairways_core::Time;

use crate::app::App;
use crate::geometry::MOST_CORES;
use crate::machine::Chip;
use crate::program::Supply;
use crate::run::Turn;
use crate::scheduler::Scheduler;

/// How long one that is asleep is waited for before it is looked at the others.
const NAP: Duration = Duration::from_millis(1);

impl Chip {
    /// The next time at which something happens that is a matter of time.
    fn next_time(&self) -> Option<Time> {
        let times = [
            self.alarm.at().map(|time| self.here(time)),
            self.stop_at.map(|time| self.not_after(time)),
            self.arrivals.last().map(|&(time, _)| time),
            self.wishes.last().map(|&(time, ..)| time),
            self.scheduler.as_ref().and_then(Scheduler::next_end),
        ];
        let windows = self.apps.iter().filter_map(|app| self.window_ends(app.window.as_ref()?));
        let phases = self.apps.iter().filter_map(|app| self.phase_ends(app));
        times.into_iter().flatten().chain(windows).chain(phases).min()
    }

    /// While all that runs is asleep, time passes as it does outside: so long has passed.
    fn sleep(&mut self) -> Duration {
        let (mut sleepers, mut others) = (0, 0);
        for app in &self.apps {
            sleepers += usize::from(app.runner.supply == Supply::Asleep);
            others +=
                usize::from(app.runner.supply == Supply::More && app.runner.now.source.is_some());
        }
        if sleepers == 0 || others > 0 {
            return Duration::ZERO;
        }
        let since = Instant::now();
        for app in self.apps.iter_mut().filter(|app| app.runner.supply == Supply::Asleep).take(1) {
            if let Some(source) = &mut app.runner.now.source {
                source.wait(NAP);
            }
        }
        since.elapsed()
    }

    /// Lets a turn pass; false if nothing will ever happen.
    pub(crate) fn advance(&mut self) -> bool {
        let next = self.next_time();
        if self.apps.is_empty() {
            let Some(next) = next else { return false };
            self.now = next.max(self.now);
            self.uncore.bus.rest();
            return true;
        }
        let from = self.clock(self.now);
        let slept = self.sleep();
        let end = self.now.after(self.turn.max(slept));
        self.now = next.map_or(end, |next| next.clamp(self.now, end));
        let until = self.clock(self.now);
        if slept > self.turn {
            // One that has slept meanwhile does not catch up.
            let turn = self.clock(Time::ZERO.after(self.turn));
            for app in &mut self.apps {
                app.runner.clock = app.runner.clock.max(until.saturating_sub(turn));
            }
        }
        if self.settings.chip.threads == 1 {
            for index in 0..self.apps.len() {
                self.run_alone(index, until);
            }
        } else {
            for core in 0..self.caches.len() {
                self.run_threads(core, until);
            }
        }
        if slept > self.turn {
            self.uncore.bus.rest();
        } else {
            self.uncore.bus.turn(until - from);
        }
        true
    }

    /// Runs a program that has its core's pipeline for itself.
    fn run_alone(&mut self, index: usize, until: u64) {
        if self.apps[index].cpu.is_some() {
            while self.run::<false>(index, until) {}
        }
    }

    /// Runs the hardware threads of a core, whichever is behind first.
    fn run_threads(&mut self, core: usize, until: u64) {
        let threads = self.settings.chip.threads as usize;
        let mut on = [0; MOST_CORES as usize];
        let mut count = 0;
        for (index, app) in self.apps.iter().enumerate() {
            if app.cpu.is_some_and(|cpu| cpu / threads == core) {
                on[count] = index;
                count += 1;
            }
        }
        let on = &on[..count];
        if let [index] = *on {
            return self.run_alone(index, until);
        }
        loop {
            let (mut first, mut clock, mut next) = (None, until, until);
            for &index in on {
                let other = self.apps[index].runner.clock;
                if other < clock {
                    (first, next, clock) = (Some(index), clock, other);
                } else if other < next {
                    next = other;
                }
            }
            let Some(index) = first else { return };
            if self.idles(index, until) {
                continue;
            }
            if !self.run::<true>(index, next.max(clock + 1)) {
                let App { account, runner, run_end, .. } = &mut self.apps[index];
                if account.instructions >= *run_end || runner.supply != Supply::More {
                    runner.clock = runner.clock.max(until);
                }
            }
        }
    }

    /// Whether a program has nothing to run for now: its clock goes on to when it has, or to `until`.
    fn idles(&mut self, index: usize, until: u64) -> bool {
        let App { account, runner, serving, .. } = &mut self.apps[index];
        let has = match serving {
            _ if runner.now.source.is_none() => None,
            Some(serving) => serving.turn_to_next(account.instructions, until),
            None => Some(0),
        };
        let before = runner.clock;
        runner.wait_until(has.unwrap_or(until));
        runner.clock > before
    }

    /// Runs a program until its core's clock shows that time, its run ends, or its phase does: then, whether it
    /// is to go on at once.
    fn run<const SHARED: bool>(&mut self, index: usize, until: u64) -> bool {
        let App { place, cpu, account, runner, serving, run_end, phase_end, job, .. } =
            &mut self.apps[index];
        let (place, run_end, phase_end) = (*place, *run_end, *phase_end);
        let mut request_end = u64::MAX;
        if let Some(serving) = serving {
            let Some(came) = serving.turn_to_next(account.instructions, until) else {
                // Its core is idle.
                runner.wait_until(until);
                return false;
            };
            runner.wait_until(came);
            request_end = serving.end();
        }
        let core = cpu.map_or(0, |cpu| cpu / self.settings.chip.threads as usize);
        let (caches, uncore) = (&mut self.caches[..], &mut self.uncore);
        let pipeline = &mut self.pipelines[core];
        let mut turn = Turn { core, place, runner, account, caches, uncore, pipeline };
        turn.run::<SHARED>(until, run_end.min(phase_end).min(request_end));
        let ran = account.instructions;
        if let Some(serving) = serving.as_mut().filter(|_| ran >= request_end) {
            let nanos = serving.answer(runner.clock);
            let record = &mut self.jobs[*job];
            record.answered += 1;
            if let Some(latencies) = &mut record.latencies {
                latencies.saturating_record(nanos);
            }
        }
        match &runner.supply {
            Supply::More | Supply::Asleep => {}
            // A run of its own length.
            Supply::Ended => self.apps[index].run_end = ran,
            Supply::Failed(why) => self.failure = Some(why.clone()),
        }
        let goes_on = ran < run_end && self.apps[index].runner.clock < until;
        if goes_on && ran >= phase_end {
            self.next_phase(index);
        }
        goes_on && (ran >= phase_end || ran >= request_end)
    }
}
