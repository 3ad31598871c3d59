//! Events and actions.

use fairways_core::machine::OpenWindow;
use fairways_core::{Action, AppId, Event, Latencies, Machine, Sample, ThreadId, Time};

use crate::agenda::DueEvent;
use crate::cores::CoreLoad;
use crate::job::AfterRun;
use crate::machine::Chip;
use crate::scheduler::Scheduler;
use crate::thread_state::{Priority, ThreadState};

impl Chip {
    /// Collects the events of this instant: windows that end, then programs that exit, then
    /// programs that start, then changed wishes of owners, then the alarm.
    fn collect(&mut self) {
        self.end_windows_and_phases();
        self.end_runs();
        self.agenda.collect_arrivals(self.clock.now);
        if self.agenda.due.is_empty()
            && let Some((scheduler, mut threads)) = self.scheduling()
        {
            scheduler.reschedule(&mut threads);
        }
        // Until all other events are reported, it may still be set again.
        if self.agenda.due.is_empty()
            && self.agenda.alarm.rings(self.clock.to_policy(self.clock.now))
        {
            self.agenda.report(Event::Woke);
        }
    }

    fn end_windows_and_phases(&mut self) {
        let Self { clock, jobs, apps, fills, cores, agenda, .. } = self;
        for app in apps.iter_mut() {
            let instructions = app.account.instructions;
            if let Some(window) = &app.window
                && let retired = instructions - window.start_counts.instructions
                && window.has_ended(clock.now, retired)
                && let account = app.account_at(clock.ticks())
                && let Some(window) = &mut app.window
            {
                let ended = window.restart(clock.now, account);
                let window = clock.policy_span_since(ended.start);
                agenda.report(Event::Sampled(Sample {
                    app: app.id,
                    counters: account.since(&ended.start_counts, clock.scale),
                    occupancy: Some(cores.occupancy(app)),
                    window,
                    plan: fills.in_force.plan,
                    straddled: ended.straddled,
                    occupancy_at_least: None,
                }));
                if let Some(serving) = &mut app.serving {
                    let answered = serving.end_window();
                    agenda.report(Event::Latency(Latencies { app: app.id, window, answered }));
                }
            }
            let phases = &jobs[app.job].job.phases;
            let in_time = app.phase_ends(phases, *clock).is_some_and(|end| end <= clock.now);
            if in_time || instructions >= app.phase_end {
                cores.next_phase(app, phases, *clock);
            }
        }
    }

    fn end_runs(&mut self) {
        let ended = self.apps.iter().filter(|app| app.account.instructions >= app.run_end);
        let ended: Vec<_> = ended.map(|app| (app.id, app.job, app.started)).collect();
        for (id, job, started) in ended {
            if let Some((scheduler, mut threads)) = self.scheduling() {
                scheduler.leave(&mut threads, id);
            }
            self.agenda.due.push(DueEvent::Exit(id));
            let record = &mut self.jobs[job];
            record.completions.push(self.clock.policy_span_since(started).as_secs_f64());
            if record.job.then == AfterRun::Restart {
                self.agenda.due.push(DueEvent::Start(job));
            }
        }
    }

    /// Starts a job on a free CPU; returns the event for policies.
    fn start(&mut self, job: usize) -> Option<Event> {
        let record = &self.jobs[job].job;
        let index = self.apps.start(&self.settings, self.clock, job, record);
        let app = &mut self.apps[index];
        self.fills.allow(app);
        self.cores.begin_phase(app, &record.phases, self.clock);
        let event =
            Event::Started { app: app.id, wish: record.wish, profile: record.profile.clone() };
        app.is_reported.then_some(event)
    }

    /// Removes a program from its core, and its lines from the caches; returns the event for
    /// policies.
    fn exit(&mut self, id: AppId) -> Option<Event> {
        let app = self.apps.remove(id);
        if let Some(app) = &app {
            self.jobs[app.job].before.add(&app.account);
            self.cores.evict_lines(app.place);
        }
        app.is_none_or(|app| app.is_reported).then_some(Event::Exited { app: id })
    }

    /// Lets a turn pass; false if no event will follow.
    fn advance(&mut self) -> bool {
        let Self { clock, jobs, apps, cores, scheduler, agenda, stops, .. } = self;
        let stop = stops.at.map(|time| clock.to_chip_rounded_down(time));
        let turn = scheduler.as_ref().and_then(Scheduler::next_end);
        let times = agenda.next_times(*clock).into_iter().chain([stop, turn]).flatten();
        let windows = apps.iter().filter_map(|app| app.window.as_ref()?.ends_at());
        let phases =
            apps.iter().filter_map(|app| app.phase_ends(&jobs[app.job].job.phases, *clock));
        let next = times.chain(windows).chain(phases).min();
        if apps.is_empty() {
            let Some(next) = next else { return false };
            clock.now = next.max(clock.now);
            cores.uncore.bus.reset();
            cores.uncore.throttles.reset();
        } else {
            clock.now = cores.run_turn(CoreLoad { clock: *clock, jobs, apps }, next);
        }
        true
    }

    /// The scheduling state of a thread; `None` if it does not run.
    fn thread(&mut self, thread: ThreadId) -> Option<&mut ThreadState> {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.needs_reschedule = true;
        }
        let app = self.apps.find_mut(thread.app).filter(|_| thread.number == 0)?;
        app.is_reported.then_some(&mut app.thread)
    }

    fn is_over(&self) -> bool {
        self.cores.failure.is_some()
            || self.stops.is_reached(self.clock, &self.jobs, &self.apps)
            || !(self.apps.iter().any(|app| app.is_reported)
                || self.agenda.is_expecting(|job| !self.jobs[job].job.system))
    }
}

impl Machine for Chip {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(due) = self.agenda.due.pop() {
                let event = match due {
                    DueEvent::Event(event) => Some(event),
                    DueEvent::Start(job) => self.start(job),
                    DueEvent::Wish(job, wish) => {
                        self.jobs[job].job.wish = wish;
                        let app = self.apps.of_job(job).find(|app| app.is_reported);
                        app.map(|app| Event::Wished { app: app.id, wish })
                    }
                    DueEvent::Exit(app) => self.exit(app),
                };
                if let Some(event) = event {
                    return Some((self.now(), event));
                }
                continue;
            }
            self.collect();
            if self.agenda.due.is_empty() && (self.is_over() || !self.advance()) {
                return None;
            }
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match action {
            Action::Partition { plan, partition, .. } => {
                let running = self.apps.iter().filter(|app| app.is_reported).map(|app| app.id);
                let legal = partition.check_levers(self.settings.chip.levers(), running);
                let actual = self.settings.chip.with_levels_in_force(&partition);
                let (answer, is_in_force) = self.fills.in_force.carry_out(plan, actual, legal);
                self.agenda.due.push_answer(answer);
                if !is_in_force {
                    return;
                }
                for app in self.apps.iter_mut() {
                    self.fills.allow(app);
                    if let Some(window) = &mut app.window {
                        window.straddle(self.clock.now);
                    }
                }
            }
            Action::Watch { app, every } => {
                if let Some(app) = self.apps.find_mut(app).filter(|app| app.is_reported) {
                    let from = app.account_at(self.clock.ticks());
                    let length = self.clock.chip_length(every);
                    app.window = Some(OpenWindow::new(length, self.clock.now, from));
                    if let Some(serving) = &mut app.serving {
                        serving.begin_window();
                    }
                }
            }
            Action::Wake { at } => self.agenda.alarm.set(at),
            Action::WatchTogether { shortest } => {
                if let Some((scheduler, threads)) = self.scheduling() {
                    scheduler.watch_together(shortest, &threads);
                }
            }
            Action::Allow { thread, cpus, .. } => {
                let count = self.settings.chip.cpus();
                let known = cpus.iter().filter(|cpu| **cpu < count);
                let allowed = known.fold(0, |allowed, cpu| allowed | 1 << cpu);
                if let Some(state) = self.thread(thread) {
                    state.allowed = if allowed == 0 { u64::MAX } else { allowed };
                }
            }
            Action::Priority { threads, raised, .. } => {
                for &thread in threads.iter() {
                    if let Some(state) = self.thread(thread) {
                        state.priority = if raised { Priority::Raised } else { Priority::Normal };
                    }
                }
            }
            Action::Quantum { thread, time, .. } => {
                if let Some(state) = self.thread(thread).filter(|_| !time.is_zero()) {
                    state.ordered = Some(time);
                }
            }
            Action::Estimated { .. } | Action::Classified { .. } => {}
        }
    }
}
