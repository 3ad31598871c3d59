//! What happens, and what is done about it.

use fairways_core::{Action, AppId, Event, Latencies, Machine, Sample, ThreadId, Time};
use fairways_machine_kit::OpenWindow;

use crate::agenda::Due;
use crate::cores::Load;
use crate::job::Then;
use crate::machine::Chip;
use crate::scheduler::{Priority, Scheduler, Thread};

impl Chip {
    /// Finds what happens now: windows that end, then programs that do, then those that start, then
    /// what owners wish, then the alarm.
    fn collect(&mut self) {
        self.end_windows_and_phases();
        self.end_runs();
        self.agenda.come(self.clock.now);
        if self.agenda.due.is_empty()
            && let Some((scheduler, mut threads)) = self.scheduling()
        {
            scheduler.reschedule(&mut threads);
        }
        // Until all else is told, it may still be set anew.
        if self.agenda.due.is_empty() && self.agenda.alarm.rings(self.clock.told(self.clock.now)) {
            self.agenda.tell(Event::Woke);
        }
    }

    fn end_windows_and_phases(&mut self) {
        let Self { clock, jobs, apps, fills, cores, agenda, .. } = self;
        for app in apps.iter_mut() {
            let account = app.counted(clock.ticks());
            if let Some(window) = &mut app.window
                && let retired = account.instructions - window.start_counts.instructions
                && window.has_ended(clock.now, retired)
            {
                let ended = window.restart(clock.now, account);
                let window = clock.told_since(ended.start);
                agenda.tell(Event::Sampled(Sample {
                    app: app.id,
                    counters: account.since(&ended.start_counts, clock.times),
                    occupancy: Some(cores.held(app)),
                    window,
                    plan: fills.in_force.plan,
                    straddled: ended.straddled,
                }));
                if let Some(serving) = &mut app.serving {
                    let answered = serving.end_window();
                    agenda.tell(Event::Latency(Latencies { app: app.id, window, answered }));
                }
            }
            let phases = &jobs[app.job].job.phases;
            let in_time = app.phase_ends(phases, *clock).is_some_and(|end| end <= clock.now);
            if in_time || account.instructions >= app.phase_end {
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
            self.agenda.due.push(Due::Exit(id));
            let record = &mut self.jobs[job];
            record.completions.push(self.clock.told_since(started).as_secs_f64());
            if record.job.then == Then::Restart {
                self.agenda.due.push(Due::Start(job));
            }
        }
    }

    /// Starts a job on a CPU that is free; what policies are told of it.
    fn start(&mut self, job: usize) -> Option<Event> {
        let of = &self.jobs[job].job;
        let index = self.apps.start(&self.settings, self.clock, job, of);
        let app = &mut self.apps[index];
        self.fills.allow(app);
        self.cores.begin_phase(app, &of.phases, self.clock);
        let event = Event::Started { app: app.id, wish: of.wish, profile: of.profile.clone() };
        app.is_told.then_some(event)
    }

    /// Takes a program off its core, and its lines out of the caches; what policies are told of it.
    fn exit(&mut self, id: AppId) -> Option<Event> {
        let app = self.apps.remove(id);
        if let Some(app) = &app {
            self.jobs[app.job].before.add(&app.account);
            self.cores.clear(app.place);
        }
        app.is_none_or(|app| app.is_told).then_some(Event::Exited { app: id })
    }

    /// Lets a turn pass; false if nothing will ever happen.
    fn advance(&mut self) -> bool {
        let Self { clock, jobs, apps, cores, scheduler, agenda, stops, .. } = self;
        let stop = stops.at.map(|time| clock.not_after(time));
        let turn = scheduler.as_ref().and_then(Scheduler::next_end);
        let times = agenda.next_times(*clock).into_iter().chain([stop, turn]).flatten();
        let windows = apps.iter().filter_map(|app| app.window.as_ref()?.ends_at());
        let phases =
            apps.iter().filter_map(|app| app.phase_ends(&jobs[app.job].job.phases, *clock));
        let next = times.chain(windows).chain(phases).min();
        if apps.is_empty() {
            let Some(next) = next else { return false };
            clock.now = next.max(clock.now);
            cores.uncore.bus.rest();
        } else {
            clock.now = cores.pass(Load { clock: *clock, jobs, apps }, next);
        }
        true
    }

    /// How a thread takes turns; `None` if it does not run.
    fn thread(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.unsettled = true;
        }
        let app = self.apps.find_mut(thread.app).filter(|_| thread.number == 0)?;
        app.is_told.then_some(&mut app.thread)
    }

    fn is_over(&self) -> bool {
        let is_told = |job: usize| !self.jobs[job].job.system;
        self.cores.failure.is_some()
            || self.stops.have_come(self.clock, &self.jobs, &self.apps)
            || !(self.apps.iter().any(|app| app.is_told) || self.agenda.expects(is_told))
    }
}

impl Machine for Chip {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(due) = self.agenda.due.pop() {
                let event = match due {
                    Due::Event(event) => Some(event),
                    Due::Start(job) => self.start(job),
                    Due::Wish(job, wish) => {
                        self.jobs[job].job.wish = wish;
                        let app = self.apps.of(job).find(|app| app.is_told);
                        app.map(|app| Event::Wished { app: app.id, wish })
                    }
                    Due::Exit(app) => self.exit(app),
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
                let running = self.apps.iter().filter(|app| app.is_told).map(|app| app.id);
                let legal = partition.check(&self.settings.chip.llc, running);
                let (answer, is_in_force) = self.fills.in_force.carry_out(plan, &partition, legal);
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
                if let Some(app) = self.apps.find_mut(app).filter(|app| app.is_told) {
                    let from = app.counted(self.clock.ticks());
                    let every = self.clock.every(every);
                    app.window = Some(OpenWindow::new(every, self.clock.now, from));
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
