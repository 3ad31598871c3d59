//! The losses of programs to their neighbours, for `fairways blame` and the metrics. They are
//! computed from the windows that policies request, and once losses are wanted, also from windows
//! of other programs that only this module sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairways_attribution::{FIRST_WINDOW, FIRST_WINDOWS, RecentAttribution};
use fairways_core::{
    Action, AppId, Counter, Event, Partition, PlanId, Time, WayMask, WindowLength,
};
use fairways_host::machine::Host;
use fairways_record::blame::{BlameReport, LATE};
use fairways_record::status::{MachineRecord, Status};
use parking_lot::{Mutex, MutexGuard};

use super::cpu_waits::{CpuReading, CpuWaits};
use super::observer::HostObserver;
use super::seen::show_uncounted;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// The length of windows that no policy requests: one costs as much as a second of `dunn`.
const WINDOW: Duration = Duration::from_secs(1);

/// The losses in every domain.
#[derive(Clone, Debug, Default)]
pub(super) struct DaemonLosses {
    domains: BTreeMap<u32, RecentAttribution>,
    /// By counters alone: how many lines a way of each domain has.
    lines_per_way: BTreeMap<u32, u64>,
    /// By counters alone: the ways that others let programs fill, as last read.
    limits: BTreeMap<u32, BTreeMap<AppId, WayMask>>,
    /// The programs that their policies do not watch.
    unwatched: BTreeMap<(u32, AppId), Unwatched>,
    /// Whether any of them needs windows of another length than it has.
    has_new: bool,
    /// Whether losses are wanted: for metrics, by counters alone, or since a client requested them.
    is_wanted: bool,
    /// Whether the counters for losses are counted.
    is_counting: bool,
    /// The time of the last event.
    now: Time,
    /// Whether plans are not carried out, so that every program may fill every way.
    observes: bool,
    waits: CpuWaits,
}

/// A program that its policy does not watch.
#[derive(Clone, Copy, Debug)]
struct Unwatched {
    /// Short windows that are still to come.
    first_windows: u32,
    /// Whether it needs windows of another length than it has, or has none yet.
    is_new: bool,
}

impl DaemonLosses {
    pub(super) fn new(is_wanted: bool, observes: bool) -> Self {
        Self { is_wanted, observes, ..Self::default() }
    }

    /// Handles an event. Returns whether the policy gets it, too; it gets no windows that it did
    /// not request.
    pub(super) fn hear(&mut self, domain: u32, at: Time, event: &Event) -> bool {
        self.now = at;
        let is_plan = matches!(event, Event::Applied { .. });
        if !(is_plan && self.observes) {
            let losses = self
                .domains
                .entry(domain)
                .or_insert_with(|| RecentAttribution::new(None, Time::ZERO, LATE));
            if matches!(event, Event::Machine(_)) {
                losses.estimate_by(self.lines_per_way.get(&domain).copied());
            }
            losses.handle(at, event);
        }
        match event {
            Event::Started { app, .. } => {
                let new = Unwatched { first_windows: FIRST_WINDOWS, is_new: true };
                self.unwatched.insert((domain, *app), new);
                self.has_new = true;
            }
            Event::Exited { app } => _ = self.unwatched.remove(&(domain, *app)),
            Event::Sampled(sample) => return !self.is_unwatched(domain, sample.app),
            // A latency comes with its window.
            Event::Latency(of) => return !self.unwatched.contains_key(&(domain, of.app)),
            _ => {}
        }
        true
    }

    /// Handles a window; returns whether the policy did not request it.
    fn is_unwatched(&mut self, domain: u32, app: AppId) -> bool {
        let Some(of) = self.unwatched.get_mut(&(domain, app)) else { return false };
        if of.first_windows > 0 {
            of.first_windows -= 1;
            of.is_new = of.first_windows == 0;
            self.has_new |= of.is_new;
        }
        true
    }

    /// Handles an action of a policy.
    pub(super) fn see(&mut self, domain: u32, action: &Action<'_>) {
        if let Action::Watch { app, .. } = action {
            self.unwatched.remove(&(domain, *app));
        }
    }

    /// Forgets domains that are gone, and reads the caches of new ones.
    pub(super) fn read_caches(&mut self, host: &Host) {
        let domains = host.domains();
        let ids: BTreeSet<u32> = domains.iter().map(|domain| domain.id).collect();
        self.domains.retain(|id, _| ids.contains(id));
        self.unwatched.retain(|(id, _), _| ids.contains(id));
        self.limits.retain(|id, _| ids.contains(id));
        let is_by_counters = host.actuator().is_none();
        let lines = domains.iter().filter(|of| is_by_counters && of.way_bytes >= LINE);
        self.lines_per_way = lines.map(|of| (of.id, of.way_bytes / LINE)).collect();
    }

    /// Reads which ways others let programs fill, if no partition in force shows that.
    fn see_limits(&mut self, host: &Host) {
        let Some(limits) = host.limits() else { return };
        for (&domain, losses) in &mut self.domains {
            let here = limits.iter().filter(|((id, _), _)| *id == domain);
            let here: BTreeMap<AppId, WayMask> =
                here.map(|(&(_, app), &mask)| (app, mask)).collect();
            if self.limits.get(&domain).is_none_or(|known| *known != here) {
                let mut actual = Partition::default();
                for (&app, &mask) in &here {
                    let cluster = actual.add_cluster(mask);
                    actual.place(app, cluster);
                }
                losses.handle(self.now, &Event::Applied { plan: PlanId::default(), actual });
                self.limits.insert(domain, here);
            }
        }
    }

    /// Whether to begin to count the counters for losses.
    const fn begins_to_count(&mut self) -> bool {
        let begins = self.is_wanted && !self.is_counting;
        self.is_counting |= begins;
        begins
    }

    /// Whether to read now how long threads waited for a CPU.
    pub(super) fn is_reading_due(&self) -> bool {
        self.is_wanted && self.waits.are_due(self.now, LATE) && self.has_programs()
    }

    fn has_programs(&self) -> bool {
        self.domains.values().any(|losses| losses.recent().programs().next().is_some())
    }

    /// Adds such a reading.
    pub(super) fn add_reading(&mut self, reading: CpuReading) {
        self.waits.add(self.now, reading);
    }

    /// The next program to watch for losses, with the action that does so.
    pub(super) fn next_to_watch(&mut self) -> Option<(u32, Action<'static>)> {
        if !(self.is_wanted && self.has_new) {
            return None;
        }
        let next = self.unwatched.iter_mut().find(|(_, of)| of.is_new);
        self.has_new = next.is_some();
        let (&(domain, app), of) = next?;
        of.is_new = false;
        let every = if of.first_windows > 0 { FIRST_WINDOW } else { WINDOW };
        Some((domain, Action::Watch { app, every: WindowLength::Time(every) }))
    }
}

/// The losses, for the loop, clients and metrics.
#[derive(Clone, Debug)]
pub(super) struct SharedLosses {
    losses: Arc<Mutex<DaemonLosses>>,
    /// Makes the loop check whether programs have to be watched.
    wake: Arc<AtomicBool>,
}

impl SharedLosses {
    pub(super) fn new(losses: DaemonLosses, wake: Arc<AtomicBool>) -> Self {
        Self { losses: Arc::new(Mutex::new(losses)), wake }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, DaemonLosses> {
        self.losses.lock()
    }

    /// If losses are wanted, begins windows of the programs that no policy watches, and reads once
    /// in a span how long threads waited for a CPU.
    ///
    /// From then on the counters for losses are counted: all of them, if the policy `reads` none;
    /// otherwise those that need not take turns with the policy's. Returns whether the set of
    /// counters may have changed.
    pub(super) fn watch(&self, host: &mut Host, reads: &[Counter]) -> bool {
        let begins = self.lock().begins_to_count();
        if begins {
            host.count_also(fairways_attribution::COUNTERS, reads.is_empty());
        }
        self.lock().see_limits(host);
        while let Some((domain, watch)) = self.lock().next_to_watch() {
            host.carry_out(domain, watch);
        }
        if self.lock().is_reading_due() {
            let programs = host.programs();
            let threads = programs.iter().map(|of| (of.app, host.tasks(of.app)));
            let reading = CpuReading::now(threads);
            self.lock().add_reading(reading);
        }
        begins
    }

    /// The recent losses in every domain in which a window has ended, with the names of `status`.
    /// From now on all programs are watched. With remedies and waits for a CPU (`is_whole`) it
    /// takes longer, about 10 ms.
    pub(super) fn reports(&self, status: &Status, is_whole: bool) -> Vec<BlameReport> {
        // Computed from a copy, so that the loop does not wait.
        let (domains, waits, now) = {
            let mut losses = self.lock();
            if !losses.is_wanted {
                losses.is_wanted = true;
                self.wake.store(true, Ordering::SeqCst);
            }
            (losses.domains.clone(), losses.waits.clone(), losses.now)
        };
        let reports = domains.iter().map(|(&domain, losses)| {
            let report = BlameReport::of_late(losses, status, domain, now);
            if !is_whole {
                return report;
            }
            report.with_remedies(losses.recent()).with_waits(|app| waits.wait(app), waits.stolen())
        });
        reports.filter(|report| !report.is_empty()).collect()
    }
}

/// The losses, as the loop keeps them.
pub(super) struct LossObserver {
    losses: SharedLosses,
    watched: Arc<Mutex<MachineRecord>>,
    /// The counters that the policy reads.
    reads: &'static [Counter],
}

impl LossObserver {
    pub(super) const fn new(
        losses: SharedLosses,
        watched: Arc<Mutex<MachineRecord>>,
        reads: &'static [Counter],
    ) -> Self {
        Self { losses, watched, reads }
    }
}

impl HostObserver for LossObserver {
    /// A client may have asked for losses since; one that asks later ends the wait.
    fn before(&mut self, host: &mut Host) {
        if self.losses.watch(host, self.reads) {
            show_uncounted(host, &self.watched);
        }
    }

    fn is_own(&mut self, host: &Host, domain: u32, at: Time, event: &Event) -> bool {
        let mut losses = self.losses.lock();
        if matches!(event, Event::Machine(_)) {
            losses.read_caches(host);
        }
        !losses.hear(domain, at, event)
    }

    fn action(&mut self, _: &Host, domain: u32, _: Time, action: &Action<'_>) {
        self.losses.lock().see(domain, action);
    }

    fn handled(&mut self, host: &Host, _: Time, _: &Event) {
        if host.domains().len() != self.watched.lock().status.domains.len() {
            self.losses.lock().read_caches(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{Counters, Latencies, Llc, Q32, Sample, Ways, Wish};
    use fairways_record::status::ProgramStatus;

    use super::*;

    const AT: Time = Time::from_nanos(1_000_000_000);

    fn started(app: u32) -> Event {
        Event::Started { app: AppId(app), wish: Wish::default(), profile: None }
    }

    fn sampled(app: u32) -> Event {
        let counters = Counters::from_fn(|counter| Some(1_000_000 + counter as u64));
        let (app, occupancy, window) = (AppId(app), Some(Q32::ONE), WINDOW);
        Event::Sampled(Sample { occupancy, ..Sample::new(app, counters, window) })
    }

    fn answered(app: u32) -> Event {
        let (app, window, answered) = (AppId(app), WINDOW, Vec::new());
        Event::Latency(Latencies { app, window, answered })
    }

    fn with_programs(is_wanted: bool) -> DaemonLosses {
        let mut losses = DaemonLosses::new(is_wanted, true);
        let llc = Llc::with_ways(Ways::new(8).unwrap());
        assert!(losses.hear(0, AT, &Event::Machine(llc.into())));
        assert!((0..2).all(|app| losses.hear(0, AT, &started(app))));
        losses
    }

    fn to_watch(losses: &mut DaemonLosses) -> Vec<u32> {
        let mut apps = Vec::new();
        while let Some((_, action)) = losses.next_to_watch() {
            let Action::Watch { app, .. } = action else { panic!("{action:?}") };
            apps.push(app.0);
        }
        apps
    }

    #[test]
    fn its_counters_are_counted_once_somebody_asks() {
        let mut losses = with_programs(false);
        assert!(!losses.begins_to_count());
        losses.is_wanted = true;
        assert!(losses.begins_to_count() && !losses.begins_to_count());
    }

    #[test]
    fn what_no_policy_watches_is_watched_once_somebody_asks_and_the_policy_does_not_see_it() {
        let mut losses = with_programs(false);
        let every = WindowLength::Instructions(1);
        losses.see(0, &Action::Watch { app: AppId(1), every });
        assert_eq!(to_watch(&mut losses), [0; 0]);
        let shared = SharedLosses::new(losses, Arc::default());
        assert!(shared.reports(&Status::default(), true).is_empty());
        assert!(shared.wake.load(Ordering::SeqCst));
        let mut losses = shared.lock();
        assert_eq!(to_watch(&mut losses), [0]);
        assert_eq!([0, 1].map(|app| losses.hear(0, AT, &sampled(app))), [false, true]);
        assert_eq!([0, 1].map(|app| losses.hear(0, AT, &answered(app))), [false, true]);
        losses.hear(0, AT, &started(2));
        assert_eq!(to_watch(&mut losses), [2]);
        // Short windows first, then long ones.
        for _ in 1..FIRST_WINDOWS {
            assert_eq!(to_watch(&mut losses), [0; 0]);
            losses.hear(0, AT, &sampled(2));
        }
        losses.hear(0, AT, &sampled(2));
        assert_eq!(to_watch(&mut losses), [2]);
        // The policy begins to watch the program later.
        losses.see(0, &Action::Watch { app: AppId(0), every });
        assert!(losses.hear(0, AT, &sampled(0)));
        drop(losses);
        let name =
            |app, name: &str| ProgramStatus { app, name: name.to_owned(), ..Default::default() };
        let programs = vec![name(0, "web"), name(1, "scan")];
        let status = Status { programs, ..Status::default() };
        let [report] = &*shared.reports(&status, true) else { panic!("one domain") };
        let json = serde_json::to_value(report).unwrap();
        assert_eq!((&json["domain"], &json["to_seconds"]), (&0.into(), &1.0.into()));
        let names = json["programs"].as_array().unwrap().iter().map(|of| of["program"].as_str());
        assert_eq!(names.collect::<Vec<_>>(), [Some("web"), Some("scan"), Some("program 2")]);
    }

    fn is_estimating(losses: &DaemonLosses) -> Option<bool> {
        let shared = SharedLosses::new(losses.clone(), Arc::default());
        let reports = serde_json::to_value(shared.reports(&Status::default(), false)).unwrap();
        reports[0]["estimates_occupancies"].as_bool()
    }

    /// A cache that goes off line and returns may have another size.
    #[test]
    fn occupancies_are_estimated_by_the_cache_that_is_there_now() {
        let mut losses = with_programs(true);
        (0..2).for_each(|app| _ = losses.hear(0, AT, &sampled(app)));
        assert_eq!(is_estimating(&losses), None);
        losses.lines_per_way = BTreeMap::from([(0, 1000)]);
        let llc = Llc::with_ways(Ways::new(8).unwrap());
        losses.hear(0, AT, &Event::Machine(llc.into()));
        assert_eq!(is_estimating(&losses), Some(true));
    }

    /// A plan that is only observed takes no ways from programs.
    #[test]
    fn observed_plans_cost_nothing() {
        let mut losses = with_programs(true);
        let mut actual = Partition::default();
        for app in 0..2 {
            let cluster = actual.add_cluster(WayMask::span(4 * app, 4));
            actual.place(AppId(app), cluster);
        }
        losses.hear(0, AT, &Event::Applied { plan: PlanId::default(), actual });
        (0..2).for_each(|app| _ = losses.hear(0, AT, &sampled(app)));
        let shared = SharedLosses::new(losses, Arc::default());
        let json = serde_json::to_value(shared.reports(&Status::default(), true)).unwrap();
        let by = &json[0]["programs"];
        assert!(by.as_array().unwrap().iter().all(|of| of["ways"] == 0.0), "{json}");
        assert_eq!(by.as_array().unwrap().len(), 2);
    }
}
