//! Events and actions.

use fairways_core::{Action, AppId, Event, Levers, Machine, PartitionError, Sample, Time, WayMask};

use crate::app::{ModelProgram, PendingEvent};
use crate::cache::CachedLines;
use crate::job::{AfterRun, Job};
use crate::machine::Model;
use crate::window::{CounterTotals, Window, nanos_left};

/// A number of instructions, at least 1; infinite without an end.
fn instructions_or_endless(count: Option<u64>) -> f64 {
    count.map_or(f64::INFINITY, |count| count.max(1) as f64)
}

impl Model {
    fn start(&mut self, job: usize) -> Event {
        let app = AppId(self.next_id);
        self.next_id += 1;
        let Job { phases, instructions, wish, profile, .. } = &self.jobs[job].job;
        self.apps.push(ModelProgram {
            id: app,
            job,
            started: self.now,
            mask: WayMask::full(self.settings.llc.ways),
            phase: 0,
            phase_start: self.now,
            phase_left: instructions_or_endless(phases[0].instructions),
            run_left: instructions_or_endless(*instructions),
            totals: CounterTotals::default(),
            window: None,
        });
        self.lines.push(CachedLines::NONE);
        let event = Event::Started { app, wish: *wish, profile: profile.clone() };
        self.update_targets();
        event
    }

    fn exit(&mut self, app: AppId) {
        if let Some(index) = self.index_of(app) {
            self.apps.remove(index);
            self.lines.remove(index);
            self.update_targets();
        }
    }

    /// Collects the events of this instant: windows that end, then programs that exit, then
    /// programs that start, then changes of the cache, then the alarm.
    fn collect(&mut self) {
        let mut has_phase_changed = false;
        for index in 0..self.apps.len() {
            let occupied = self.lines[index].occupancy();
            let app = &mut self.apps[index];
            if let Some(window) = &mut app.window
                && nanos_left(window, self.settings.overshoot, self.now, &app.totals, 1.0) == 0
            {
                let window = window.restart(self.now, app.totals);
                self.due.push(PendingEvent::Event(Event::Sampled(Sample {
                    app: app.id,
                    counters: self.observer.counters(&app.totals.since(&window.start_counts)),
                    occupancy: self.observer.occupancy(occupied),
                    window: self.now.since(window.start),
                    plan: self.in_force.plan,
                    straddled: window.straddled,
                    occupancy_at_least: None,
                })));
            }
            let phases = &self.jobs[app.job].job.phases;
            while app.phase_left <= 0.0 {
                app.phase = (app.phase + 1) % phases.len();
                app.phase_start = self.now;
                let length = phases[app.phase].instructions;
                app.phase_left += instructions_or_endless(length);
                has_phase_changed = true;
            }
        }
        if has_phase_changed {
            self.update_targets();
        }
        for app in &self.apps {
            if app.run_left <= 0.0 {
                self.due.push(PendingEvent::Exit(app.id));
                let record = &mut self.jobs[app.job];
                record.completions.push(self.now.since(app.started).as_secs_f64());
                if record.job.then == AfterRun::Restart {
                    self.due.push(PendingEvent::Start(app.job));
                }
            }
        }
        while let Some((_, job)) = self.arrivals.pop_if(|(time, _)| *time <= self.now) {
            self.due.push(PendingEvent::Start(job));
        }
        while let Some((_, llc)) = self.changes.pop_if(|(time, _)| *time <= self.now) {
            let levers = Levers { llc, ..self.settings.levers() };
            self.due.push(PendingEvent::Event(Event::Machine(levers)));
        }
        // Until all other events are reported, it may still be set again.
        if self.due.is_empty() && self.alarm.rings(self.now) {
            self.due.push(PendingEvent::Event(Event::Woke));
        }
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
            || self.stop_at.is_some_and(|time| time <= self.now)
            || self.stop_after.is_some_and(|completions| {
                self.jobs.iter().all(|record| record.completions.len() >= completions)
            })
            || (self.apps.is_empty() && self.arrivals.is_empty())
    }
}

impl Machine for Model {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(due) = self.due.pop() {
                let event = match due {
                    PendingEvent::Event(event) => event,
                    PendingEvent::Start(job) => self.start(job),
                    PendingEvent::Exit(app) => {
                        self.exit(app);
                        Event::Exited { app }
                    }
                };
                if let Event::Machine(Levers { llc, .. }) = &event {
                    self.settings.llc = *llc;
                }
                return Some((self.now, event));
            }
            self.collect();
            if self.due.is_empty() && (self.is_over() || !self.advance()) {
                return None;
            }
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match action {
            Action::Partition { plan, partition, .. } => {
                let clusters = u32::try_from(partition.clusters().len()).unwrap_or(u32::MAX);
                let running = self.apps.iter().map(|app| app.id);
                let mut checked = partition.check_levers(self.settings.levers(), running);
                if checked.is_ok() && clusters > 1 && self.observer.refuses() {
                    checked = Err(PartitionError::TooManyClusters { clusters, clos: clusters - 1 });
                }
                let (answer, is_in_force) =
                    self.in_force.carry_out(plan, partition.clone().into_owned(), checked);
                self.due.push_answer(answer);
                if !is_in_force {
                    return;
                }
                for app in &mut self.apps {
                    app.mask = partition.mask_of(app.id).unwrap_or_default();
                    if let Some(window) = &mut app.window {
                        window.straddle(self.now);
                    }
                }
                self.update_targets();
            }
            Action::Watch { app, every } => {
                if let Some(index) = self.index_of(app) {
                    let app = &mut self.apps[index];
                    app.window = Some(Window::new(every, self.now, app.totals));
                }
            }
            Action::Wake { at } => self.alarm.set(at),
            // Every program has a core of its own: there is nothing to schedule.
            Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. }
            | Action::Estimated { .. }
            | Action::Classified { .. } => {}
        }
    }
}
