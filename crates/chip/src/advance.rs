//! How time passes: in turns, and while all is asleep as it does outside.

use std::time::{Duration, Instant};

use fairways_core::Time;

use crate::app::App;
use crate::machine::Chip;
use crate::program::Supply;
use crate::run::Turn;

/// How long one that is asleep is waited for before it is looked at the others.
const NAP: Duration = Duration::from_millis(1);

impl Chip {
    /// The next time at which something happens that is a matter of time.
    fn next_time(&self) -> Option<Time> {
        let times = [
            self.alarm.map(|time| self.here(time)),
            self.stop_at.map(|time| self.not_after(time)),
            self.arrivals.last().map(|&(time, _)| time),
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
        for index in 0..self.apps.len() {
            loop {
                let App { core, account, runner, run_end, phase_end, .. } = &mut self.apps[index];
                let (core, run_end, phase_end) = (*core, *run_end, *phase_end);
                let (caches, uncore) = (&mut self.caches[..], &mut self.uncore);
                let mut turn = Turn { core, runner, account, caches, uncore };
                turn.run(until, run_end.min(phase_end));
                let ran = account.instructions;
                match &runner.supply {
                    Supply::More | Supply::Asleep => {}
                    // A run of its own length.
                    Supply::Ended => self.apps[index].run_end = ran,
                    Supply::Failed(why) => self.failure = Some(why.clone()),
                }
                let runner = &self.apps[index].runner;
                if runner.clock >= until || ran < phase_end || ran >= run_end {
                    break;
                }
                self.next_phase(index);
            }
        }
        if slept > self.turn {
            self.uncore.bus.rest();
        } else {
            self.uncore.bus.turn(until - from);
        }
        true
    }
}
