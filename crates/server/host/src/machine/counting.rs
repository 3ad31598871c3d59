//! Counts programs in windows.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Counters, Event, Latencies, Q32, Sample, Time, WindowLength};
use fairways_perf::{EndedWindow, Source};
use fairways_resctrl_client as client;

use super::agenda::{Agenda, Deadlines};
use super::domains::Domains;
use super::latency::Latency;
use super::mechanism::Mechanism;
use super::traffic_check::TrafficCheck;
use super::turnover::TurnoverCheck;
use super::window_table::{WindowKey, WindowTable};
use super::windows::Window;
use crate::emulated::counters::between;

/// The counters and latencies of programs, and their open windows.
///
/// Programs have windows only in domains whose policies know them.
pub(super) struct Counting {
    pub(super) source: Box<dyn Source>,
    latencies: BTreeMap<AppId, Latency>,
    pub(super) traffic: TrafficCheck,
    pub(super) turnover: TurnoverCheck,
    windows: WindowTable,
    /// When windows were last looked at: none ends twice at one time.
    looked_at: Option<Time>,
    /// The windows that are due; the list is kept to reuse its memory.
    due: Vec<WindowKey>,
}

impl Counting {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Self {
            source,
            latencies: BTreeMap::new(),
            traffic: TrafficCheck::default(),
            turnover: TurnoverCheck::default(),
            windows: WindowTable::default(),
            looked_at: None,
            due: Vec::new(),
        }
    }

    /// Updates the CPUs of each domain.
    pub(super) fn set_domains(&mut self, found: &[client::Domain]) {
        let cpus: Vec<_> = found.iter().map(|domain| (domain.id, domain.cpus.clone())).collect();
        self.source.set_domains(&cpus);
    }

    /// Begins to report a program's latencies in these domains.
    pub(super) fn listen(
        &mut self,
        app: AppId,
        source: Box<dyn fairways_latency::Source>,
        domains: &[u32],
    ) {
        self.latencies.insert(app, Latency::new(source, domains));
    }

    /// Stops reporting a program's latencies. Returns their source.
    pub(super) fn unlisten(&mut self, app: AppId) -> Option<Box<dyn fairways_latency::Source>> {
        self.latencies.remove(&app).map(Latency::into_source)
    }

    /// Ends the window of a program that its domain's policy no longer knows.
    pub(super) fn stop(&mut self, domain: u32, app: AppId) {
        self.windows.remove((domain, app));
        self.traffic.forget((domain, app));
        self.turnover.forget((domain, app));
    }

    /// Ends all windows in a domain.
    pub(super) fn leave(&mut self, domain: u32) {
        self.windows.leave(domain);
        self.traffic.leave(domain);
        self.turnover.leave(domain);
    }

    /// Records that another plan came into force in a domain.
    pub(super) fn straddle(&mut self, domain: u32, now: Time) {
        self.windows.straddle(domain, now);
    }

    /// Begins a window of a program that its domain's policy knows.
    pub(super) fn watch(
        &mut self,
        key: WindowKey,
        every: WindowLength,
        now: Time,
        mechanism: &mut dyn Mechanism,
    ) {
        let (domain, app) = key;
        let mut from = self.source.read(app, domain);
        mechanism.count_bytes(app, domain, &mut from);
        self.begin(key, every, now, from);
    }

    /// Restarts the windows of a program, or of all programs.
    pub(super) fn restart(&mut self, app: Option<AppId>, now: Time, mechanism: &mut dyn Mechanism) {
        let windows = self.windows.iter();
        let windows: Vec<(WindowKey, WindowLength)> = windows
            .filter(|&(&(_, other), _)| app.is_none_or(|app| app == other))
            .map(|(&key, window)| (key, window.common.length))
            .collect();
        for (key, every) in windows {
            self.watch(key, every, now, mechanism);
        }
    }

    fn begin(&mut self, key: WindowKey, every: WindowLength, now: Time, from: Counters) {
        let (domain, app) = key;
        if let Some(latency) = self.latencies.get_mut(&app) {
            latency.take(domain);
        }
        let count = match every {
            WindowLength::Time(_) => None,
            WindowLength::Instructions(count) => Some(count.max(1)),
        };
        let is_reported = self.source.report_windows(app, domain, count) && count.is_some();
        let rate = self.windows.get(key).map(|window| window.rate).unwrap_or_default();
        let mut window = Window::new(every, now, from, rate);
        window.is_reported = is_reported;
        self.windows.insert(key, window);
    }

    /// Ends the windows that are over.
    pub(super) fn end_windows(
        &mut self,
        agenda: &Agenda,
        domains: &mut Domains,
        mechanism: &mut dyn Mechanism,
    ) {
        let now = agenda.now();
        if self.looked_at.replace(now) == Some(now) {
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        self.windows.find_due(now, agenda.ends_by_instructions(), &mut due);
        for key in due.drain(..) {
            self.end_window(key, now, domains, mechanism);
        }
        self.due = due;
    }

    /// Looks at a window that is due, and ends it if it is over.
    fn end_window(
        &mut self,
        key: WindowKey,
        now: Time,
        domains: &mut Domains,
        mechanism: &mut dyn Mechanism,
    ) {
        let (domain, app) = key;
        let Some(&window) = self.windows.get(key) else { return };
        let mut to = self.source.read(app, domain);
        let end = window.ends_at();
        let is_over = end.zip(to.instructions).is_some_and(|(end, retired)| retired >= end);
        if window.common.ends_at().is_none() && !is_over {
            if self.windows.change(key, |window| window.go_on(now, &to)) == Some(true) {
                let every = window.common.length;
                mechanism.count_bytes(app, domain, &mut to);
                self.begin(key, every, now, to);
            }
            return;
        }
        mechanism.count_bytes(app, domain, &mut to);
        let counters = between(&window.common.start_counts, &to);
        let length = now.since(window.common.start);
        self.report(key, (counters, length), window.next(now, to), domains, mechanism);
    }

    /// Reports the counts and the length of a window that has ended now, and begins the next one.
    fn report(
        &mut self,
        key: WindowKey,
        (mut counters, length): (Counters, Duration),
        next: Window,
        domains: &mut Domains,
        mechanism: &mut dyn Mechanism,
    ) {
        let (id, app) = key;
        let Some(domain) = domains.get_mut(id) else { return };
        let measured_mbps = domain.levers().bandwidth.and_then(|lever| lever.capacity_mbps);
        let misses = counters.llc_misses.filter(|_| self.source.is_measured());
        self.traffic.check(key, &mut counters, length, measured_mbps, misses);
        let straddled = self.windows.get(key).is_some_and(|window| window.common.straddled);
        let bytes = mechanism.occupied_bytes(app, id).filter(|_| domain.way_bytes > 0);
        let is_all = bytes.is_none_or(|bytes| {
            let held = (bytes, domain.way_bytes);
            self.turnover.is_all(key, mechanism.counting_group(app), held, &counters)
        });
        let read = bytes.map(|bytes| Q32::ratio(bytes, domain.way_bytes));
        let (occupancy, occupancy_at_least) = if is_all { (read, None) } else { (None, read) };
        let plan = domain.plan.id;
        let sample = Sample {
            app,
            counters,
            occupancy,
            occupancy_at_least,
            window: length,
            plan,
            straddled,
        };
        let answered = self.latencies.get_mut(&app).and_then(|latency| latency.take(id));
        self.windows.insert(key, next);
        domain.report(Event::Sampled(sample));
        if let Some(answered) = answered {
            domain.report(Event::Latency(Latencies { app, window: length, answered }));
        }
    }

    /// Handles the windows that have ended according to the source. Windows that it no longer
    /// reports are restarted.
    pub(super) fn fetch(
        &mut self,
        now: Time,
        domains: &mut Domains,
        mechanism: &mut dyn Mechanism,
    ) {
        if self.source.attention().is_none() {
            // It reports no windows.
            return;
        }
        let mut ended = Vec::new();
        self.source.take_ended(&mut ended);
        for window in &ended {
            let key = (window.app, window.domain);
            let is_only =
                ended.iter().filter(|other| (other.app, other.domain) == key).count() == 1;
            self.take_ended(window, is_only, now, domains, mechanism);
        }
        let mut silent: Vec<(WindowKey, WindowLength)> = Vec::new();
        for (&(domain, app), window) in self.windows.iter() {
            if window.is_reported && !self.source.reports_windows(app, domain) {
                silent.push(((domain, app), window.common.length));
            }
        }
        for (key, every) in silent {
            self.watch(key, every, now, mechanism);
        }
    }

    /// Handles the end of a window. `is_only` if the source reports no other window of its program
    /// now.
    ///
    /// Bytes and occupancy are read now, a little after its end; with several windows, it is not
    /// known which bytes belong to which. A plan that came into force after its end counts as
    /// straddling both this window and the next one.
    fn take_ended(
        &mut self,
        &EndedWindow { app, domain, mut counters, length, ago }: &EndedWindow,
        is_only: bool,
        now: Time,
        domains: &mut Domains,
        mechanism: &mut dyn Mechanism,
    ) {
        let key = (domain, app);
        let window = self.windows.get(key).copied().filter(|window| window.is_reported);
        let (Some(window), Some(of)) = (window, domains.get(domain)) else { return };
        let end = before(now, ago).max(window.common.start);
        let mut next = window.next(end, Counters::default());
        next.common.straddled = of.plan.since > end;
        mechanism.count_bytes(app, domain, &mut next.common.start_counts);
        if is_only {
            counters.memory_bytes =
                between(&window.common.start_counts, &next.common.start_counts).memory_bytes;
        }
        self.report(key, (counters, length), next, domains, mechanism);
    }

    /// Adds the times at which windows end.
    pub(super) fn add_deadlines(&self, deadlines: &mut Deadlines, ends_by_instructions: bool) {
        self.windows.add_deadlines(deadlines, ends_by_instructions);
    }
}

/// The time `span` before `time`, or 0.
fn before(time: Time, span: Duration) -> Time {
    Time::ZERO.after(time.since(Time::ZERO).saturating_sub(span))
}
