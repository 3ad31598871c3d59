//! What happens, and what is done about it.

use std::sync::atomic::Ordering;

use fairways_core::{Action, Event, Every, Latencies, Machine, Sample, ThreadId, Time};

use crate::app::{App, Window};
use crate::machine::{Chip, Due};
use crate::scheduler::{Priority, Thread};

impl Chip {
    /// When a window ends, if that is a matter of time.
    pub(crate) fn window_ends(&self, window: &Window) -> Option<Time> {
        match window.every {
            Every::Time(span) => Some(window.since.after(self.span(span))),
            Every::Instructions(_) => None,
        }
    }

    fn has_ended(&self, window: &Window, instructions: u64) -> bool {
        match window.every {
            Every::Instructions(asked) => {
                instructions - window.from.instructions >= self.instructions(asked)
            }
            Every::Time(_) => self.window_ends(window).is_some_and(|end| end <= self.now),
        }
    }

    /// Finds what happens now: windows that end, then programs that do, then those that start, then what owners
    /// wish, then the alarm.
    fn collect(&mut self) {
        for index in 0..self.apps.len() {
            let app = &self.apps[index];
            let account = app.counted(self.clock(self.now));
            if let Some(window) = app.window
                && self.has_ended(&window, account.instructions)
            {
                let times = u64::from(self.settings.time_scale);
                let length = self.told(self.now).since(self.told(window.since));
                self.due.push(Due::Event(Event::Sampled(Sample {
                    app: app.id,
                    counters: account.since(&window.from, times),
                    occupancy: Some(self.held(app)),
                    window: length,
                    plan: self.in_force.plan,
                    straddled: window.straddled,
                })));
                let next = Window { since: self.now, from: account, straddled: false, ..window };
                let App { id: app, serving, window: under_way, .. } = &mut self.apps[index];
                *under_way = Some(next);
                if let Some(serving) = serving {
                    let answered = serving.end_window();
                    let latencies = Latencies { app: *app, window: length, answered };
                    self.due.push(Due::Event(Event::Latency(latencies)));
                }
            }
            let app = &self.apps[index];
            let in_time = self.phase_ends(app).is_some_and(|end| end <= self.now);
            if in_time || account.instructions >= app.phase_end {
                self.next_phase(index);
            }
        }
        let ended = self.apps.iter().filter(|app| app.account.instructions >= app.run_end);
        for (id, job, started) in
            ended.map(|app| (app.id, app.job, app.started)).collect::<Vec<_>>()
        {
            if let Some(index) = self.find(id) {
                self.leave(index);
            }
            self.due.push(Due::Exit(id));
            let seconds = self.told(self.now).since(self.told(started)).as_secs_f64();
            self.jobs[job].completions.push(seconds);
            if self.restarts(job) {
                self.due.push(Due::Start(job));
            }
        }
        while let Some((_, job)) = self.arrivals.pop_if(|(time, _)| *time <= self.now) {
            self.due.push(Due::Start(job));
        }
        while let Some((_, job, wish)) = self.wishes.pop_if(|(time, ..)| *time <= self.now) {
            self.due.push(Due::Wish(job, wish));
        }
        if self.due.is_empty() {
            self.reschedule();
        }
        // Until all else is told, it may still be set anew.
        if self.due.is_empty() && self.alarm.at().is_some_and(|time| self.here(time) <= self.now) {
            self.alarm.clear();
            self.due.push(Due::Event(Event::Woke));
        }
    }

    /// How a thread takes turns; `None` if it does not run.
    fn thread(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.unsettled = true;
        }
        let index = self.find(thread.app).filter(|_| thread.number == 0)?;
        let index = Some(index).filter(|&index| self.apps[index].is_told)?;
        Some(&mut self.apps[index].thread)
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
            || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
            || self.stop_at.is_some_and(|time| self.not_after(time) <= self.now)
            || self.stop_after.is_some_and(|completions| {
                self.jobs
                    .iter()
                    .all(|record| record.job.system || record.completions.len() >= completions)
            })
            || self
                .stop_at_instructions
                .is_some_and(|(job, instructions)| self.account(job).instructions >= instructions)
            || self.is_paused()
            || !(self.apps.iter().any(|app| app.is_told)
                || self.arrivals.iter().any(|(_, job)| !self.jobs[*job].job.system))
    }
}

impl Machine for Chip {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(due) = self.due.pop() {
                let event = match due {
                    Due::Event(event) => Some(event),
                    Due::Start(job) => self.start(job),
                    Due::Wish(job, wish) => {
                        self.jobs[job].job.wish = wish;
                        let app = self.apps.iter().find(|app| app.job == job && app.is_told);
                        app.map(|app| Event::Wished { app: app.id, wish })
                    }
                    Due::Exit(app) => {
                        let index = self.find(app);
                        let is_told = index.is_none_or(|index| self.apps[index].is_told);
                        if let Some(index) = index {
                            self.remove(index);
                        }
                        is_told.then_some(Event::Exited { app })
                    }
                };
                if let Some(event) = event {
                    return Some((self.told(self.now), event));
                }
                continue;
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
                let running = self.apps.iter().filter(|app| app.is_told).map(|app| app.id);
                let legal = partition.check(&self.settings.chip.llc, running);
                let (answer, is_in_force) = self.in_force.carry_out(plan, &partition, legal);
                self.due.answer(answer);
                if !is_in_force {
                    return;
                }
                for index in 0..self.apps.len() {
                    let fill = self.fill_of(index);
                    let app = &mut self.apps[index];
                    app.runner.fill = fill;
                    if let Some(window) = &mut app.window {
                        window.straddled |= window.since < self.now;
                    }
                }
            }
            Action::Watch { app, every } => {
                let (since, clock) = (self.now, self.clock(self.now));
                if let Some(index) = self.find(app)
                    && self.apps[index].is_told
                {
                    let app = &mut self.apps[index];
                    let from = app.counted(clock);
                    app.window = Some(Window { every, since, from, straddled: false });
                    if let Some(serving) = &mut app.serving {
                        serving.begin_window();
                    }
                }
            }
            Action::Wake { at } => self.alarm.set(at),
            Action::WatchTogether { shortest } => self.watch_together(shortest),
            Action::Allow { thread, cpus, .. } => {
                let count = self.settings.chip.cpus();
                let known = cpus.iter().filter(|cpu| **cpu < count);
                let allowed = known.fold(0, |allowed, cpu| allowed | 1 << cpu);
                if let Some(of) = self.thread(thread) {
                    of.allowed = if allowed == 0 { u64::MAX } else { allowed };
                }
            }
            Action::Priority { threads, raised, .. } => {
                for &thread in threads.iter() {
                    if let Some(of) = self.thread(thread) {
                        of.priority = if raised { Priority::Raised } else { Priority::Normal };
                    }
                }
            }
            Action::Quantum { thread, time, .. } => {
                if let Some(of) = self.thread(thread).filter(|_| !time.is_zero()) {
                    of.ordered = Some(time);
                }
            }
            Action::Estimated { .. } | Action::Classified { .. } => {}
        }
    }
}
