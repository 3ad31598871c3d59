//! How time passes.

use fairways_core::Time;
use fairways_profiles::divide;

use crate::cache::fill;
use crate::machine::Model;
use crate::rates::{RatesPerSecond, rates};
use crate::settings::Settings;
use crate::window::{nanos_left, whole_nanos};

/// More nanoseconds than a machine runs for.
const FOREVER: u64 = u64::MAX;

/// Bytes of a line.
const LINE: f64 = 64.0;

impl Model {
    /// Recomputes the occupancy that each program moves toward.
    pub(crate) fn update_targets(&mut self) {
        let ways = self.settings.llc.ways;
        let programs = self
            .apps
            .iter()
            .map(|app| (&*self.jobs[app.job].job.phases[app.phase].program, app.mask));
        let parts = divide(programs, ways);
        for (lines, parts) in self.lines.iter_mut().zip(parts.chunks(ways.get() as usize)) {
            lines.target[..parts.len()].copy_from_slice(parts);
        }
        self.are_rates_stale = true;
    }

    /// Computes the rates at the current occupancies; false if memory can't serve the programs.
    fn update_rates(&mut self) -> bool {
        let jobs = &self.jobs;
        let programs = self.apps.iter().zip(&self.lines).map(|(app, lines)| {
            (app.id, &*jobs[app.job].job.phases[app.phase].program, lines.occupancy())
        });
        let Settings { mhz, bandwidth, .. } = self.settings;
        match rates(mhz, bandwidth, &self.in_force.partition, programs, &mut self.rates) {
            Ok(()) => true,
            Err(why) => {
                self.failure = Some(why);
                false
            }
        }
    }

    /// How many ways a second a program can fill: a line a miss.
    fn filling(way_bytes: f64) -> impl Fn(&RatesPerSecond) -> f64 + Copy {
        move |rates| rates.llc_misses * LINE / way_bytes
    }

    /// The longest step in which at most `Settings::step` ways change hands; infinite if none does.
    fn longest_step(&self) -> f64 {
        let filling = Self::filling(self.settings.way_bytes);
        let (mut total, mut longest) = (0.0, 0.0f64);
        for (lines, rates) in self.lines.iter().zip(&self.rates) {
            let (missing, fill) = (lines.missing(), filling(rates));
            if missing > 0.0 && fill > 0.0 {
                total += fill;
                longest = longest.max(missing / fill);
            }
        }
        if total > 0.0 { longest.min(self.settings.step / total) } else { f64::INFINITY }
    }

    /// Nanoseconds to the next event at the current rates; `FOREVER` if there is none.
    fn nanos_to_next_event(&self) -> u64 {
        let mut next = FOREVER;
        let times = [
            self.alarm.at(),
            self.stop_at,
            self.arrivals.last().map(|&(time, _)| time),
            self.changes.last().map(|&(time, _)| time),
        ];
        for time in times.into_iter().flatten() {
            next = next.min(time.nanos().saturating_sub(self.now.nanos()));
        }
        for (app, rates) in self.apps.iter().zip(&self.rates) {
            let rate = rates.instructions;
            next = next.min(whole_nanos(app.phase_left.min(app.run_left) / rate));
            if let Some(window) = &app.window {
                let overshoot = self.settings.overshoot;
                next = next.min(nanos_left(window, overshoot, self.now, &app.totals, rate));
            }
        }
        next
    }

    /// Lets time pass until an event may be due; false if there will be none.
    pub(crate) fn advance(&mut self) -> bool {
        if self.are_rates_stale && !self.update_rates() {
            return false;
        }
        self.are_rates_stale = false;
        let next = self.nanos_to_next_event();
        if next == FOREVER {
            return false;
        }
        let step = self.longest_step();
        // Whole nanoseconds, and at least one, or time would stand still.
        let nanos = next.min(whole_nanos(step)).max(1);
        let seconds = nanos as f64 * 1e-9;
        if step < f64::INFINITY {
            // Midpoint rule: the rates half-way are those of the step.
            let (filling, ways) = (Self::filling(self.settings.way_bytes), self.settings.llc.ways);
            let ways = ways.get() as usize;
            let Self { lines, rates, before, shares, .. } = self;
            before.clone_from(lines);
            fill(lines, rates.iter().map(filling), ways, seconds / 2.0, shares);
            if !self.update_rates() {
                return false;
            }
            let Self { lines, rates, before, shares, .. } = self;
            std::mem::swap(lines, before);
            fill(lines, rates.iter().map(filling), ways, seconds, shares);
            self.are_rates_stale = true;
        }
        self.now = Time::from_nanos(self.now.nanos() + nanos);
        let mhz = self.settings.mhz;
        for (app, rates) in self.apps.iter_mut().zip(&self.rates) {
            let done = rates.instructions * seconds;
            app.totals.advance(rates, seconds);
            app.phase_left -= done;
            app.run_left -= done;
            let record = &mut self.jobs[app.job];
            let best = record.job.phases[app.phase].program.best_ipc() * mhz * 1e6;
            record.ran += seconds;
            record.work.instructions += done;
            record.work.at_best += done / best;
        }
        true
    }
}
