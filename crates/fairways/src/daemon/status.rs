//! How the daemon and its programs are, as clients are told.

use fairways_core::{Action, AppId, Counters, Event, Q32, Time, WayMask};
use fairways_host::machine::Host;
use serde::{Deserialize, Serialize};

/// The version of these types.
pub(super) const SCHEMA: u32 = 1;

/// How the daemon is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// [`SCHEMA`].
    pub(super) schema: u32,
    /// The daemon's version and process.
    pub(super) version: String,
    pub(super) pid: u32,
    /// The policy.
    pub(super) policy: String,
    /// What is done about its plans: `manage`, `observe` or `dry-run`.
    pub(super) mode: String,
    /// The daemon's clock, at the last event.
    pub(super) now_ns: u64,
    /// Why nothing is decided any more; the last partition holds.
    pub(super) failed: Option<String>,
    /// The last-level caches.
    pub(super) domains: Vec<Domain>,
    /// The programs that run; in several domains, once for each.
    pub(super) programs: Vec<Program>,
}

/// One last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Domain {
    /// resctrl's id of it.
    pub(super) id: u32,
    /// The ways and classes of service that the policy may give out.
    pub(super) ways: u32,
    pub(super) clos: u32,
    /// The plan in force, and why; `null` before the first.
    pub(super) plan: Option<u32>,
    pub(super) reason: Option<String>,
    /// Its clusters.
    pub(super) clusters: Vec<Cluster>,
    /// Why the last plan was refused, if it was.
    pub(super) refused: Option<String>,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cluster {
    /// The ways that its programs may fill, as a line of schemata has them.
    pub(super) mask: String,
    /// Its programs, by name, and their threads when the plan was made.
    pub(super) programs: Vec<String>,
    pub(super) tasks: Vec<i32>,
}

/// A program in a domain. What is missing is `null`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    /// Its number and name.
    pub(super) app: u32,
    pub(super) name: String,
    /// The domain.
    pub(super) domain: u32,
    /// The ways that it may fill, as a line of schemata has them; `null` while it has no place.
    pub(super) mask: Option<String>,
    pub(super) ways: Option<u32>,
    /// What the policy holds it to be, and why.
    pub(super) class: Option<String>,
    pub(super) class_reason: Option<String>,
    /// The last window: instructions per cycle, misses per 1000 cycles, ways' worth of lines, bytes from and to memory, and
    /// how long it was.
    pub(super) ipc: Option<f64>,
    pub(super) llcmpkc: Option<f64>,
    pub(super) occupancy_ways: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) window_ns: Option<u64>,
}

/// What of a host is not told by events and actions.
pub(super) trait Seen {
    /// A mask of the ways that are given out, as a line of schemata has it.
    fn physical(&self, domain: u32, mask: WayMask) -> WayMask;

    /// A program's threads.
    fn tasks(&self, app: AppId) -> Vec<i32>;
}

impl Seen for Host {
    fn physical(&self, domain: u32, mask: WayMask) -> WayMask {
        let domain = self.actuator().domains().iter().find(|of| of.id == domain);
        domain.map_or(mask, |of| of.physical(mask))
    }

    fn tasks(&self, app: AppId) -> Vec<i32> {
        self.tasks(app).to_vec()
    }
}

impl Status {
    /// Takes in what happened in a domain; `name` tells what a program that started is called.
    pub(super) fn event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        name: impl FnOnce(AppId) -> String,
    ) {
        self.now_ns = at.nanos();
        match event {
            Event::Machine(llc) => {
                let of = self.domain(domain);
                (of.ways, of.clos) = (llc.ways.get(), llc.clos);
            }
            Event::Started { app, .. } => {
                let program =
                    Program { app: app.0, name: name(*app), domain, ..Program::default() };
                self.programs.push(program);
            }
            Event::Exited { app } => {
                self.programs.retain(|of| (of.app, of.domain) != (app.0, domain));
            }
            Event::Sampled(sample) => {
                let Some(of) = self.program(domain, sample.app) else { return };
                let Counters { memory_bytes, .. } = sample.counters;
                of.ipc = sample.counters.ipc().map(real);
                of.llcmpkc = sample.counters.llcmpkc().map(real);
                of.occupancy_ways = sample.occupancy.map(real);
                of.memory_bytes = memory_bytes;
                of.window_ns = u64::try_from(sample.window.as_nanos()).ok();
            }
            Event::Refused { why, .. } => self.domain(domain).refused = Some(why.to_string()),
            Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Woke => {}
        }
    }

    /// Takes in what the policy of a domain asks for; `seen` tells what else is known of it.
    pub(super) fn action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn Seen) {
        match action {
            Action::Partition { plan, partition, reason } => {
                let physical = |mask: &WayMask| seen.physical(domain, *mask);
                let mut clusters: Vec<Cluster> =
                    partition.masks().iter().map(|mask| Cluster::new(physical(mask))).collect();
                for of in self.programs.iter_mut().filter(|of| of.domain == domain) {
                    let place = partition.places().iter().find(|place| place.app.0 == of.app);
                    let cluster = place.map(|place| place.cluster as usize);
                    let mask = cluster.and_then(|cluster| partition.masks().get(cluster));
                    of.mask = mask.map(|mask| physical(mask).to_string());
                    of.ways = mask.map(|mask| mask.count());
                    if let Some(cluster) = cluster.and_then(|cluster| clusters.get_mut(cluster)) {
                        cluster.programs.push(of.name.clone());
                        cluster.tasks.extend(seen.tasks(AppId(of.app)));
                    }
                }
                let of = self.domain(domain);
                of.plan = Some(plan.0);
                of.reason = Some((*reason).to_owned());
                of.clusters = clusters;
                of.refused = None;
            }
            Action::Classified { app, class, reason } => {
                if let Some(of) = self.program(domain, *app) {
                    of.class = Some((*class).to_owned());
                    of.class_reason = Some((*reason).to_owned());
                }
            }
            Action::Watch { .. }
            | Action::Wake { .. }
            | Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. }
            | Action::Estimated { .. } => {}
        }
    }

    /// Forgets the domains that are not there any longer.
    pub(super) fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.domains.retain(|of| is_there(of.id));
    }

    fn domain(&mut self, id: u32) -> &mut Domain {
        let place = self.domains.binary_search_by_key(&id, |of| of.id).unwrap_or_else(|place| {
            self.domains.insert(place, Domain { id, ..Domain::default() });
            place
        });
        &mut self.domains[place]
    }

    fn program(&mut self, domain: u32, app: AppId) -> Option<&mut Program> {
        self.programs.iter_mut().find(|of| (of.app, of.domain) == (app.0, domain))
    }
}

impl Cluster {
    fn new(mask: WayMask) -> Self {
        Self { mask: mask.to_string(), programs: Vec::new(), tasks: Vec::new() }
    }
}

#[allow(clippy::cast_precision_loss)] // For people.
fn real(value: Q32) -> f64 {
    value.raw() as f64 / (1u64 << 32) as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{Llc, Partition, PartitionError, PlanId, Sample, Ways, Wish};

    use super::*;

    /// The lowest two ways are others'.
    struct Known;

    impl Seen for Known {
        fn physical(&self, _: u32, mask: WayMask) -> WayMask {
            WayMask::from_bits(mask.bits() << 2)
        }

        fn tasks(&self, app: AppId) -> Vec<i32> {
            vec![70 * i32::try_from(app.0).unwrap()]
        }
    }

    fn started(status: &mut Status, app: u32, name: &str) {
        let event = Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
        status.event(3, Time::ZERO, &event, |_| name.to_owned());
    }

    #[test]
    fn what_happened_is_told() {
        let mut status = Status::default();
        let llc = Llc::with_ways(Ways::new(11).unwrap());
        status.event(3, Time::ZERO, &Event::Machine(llc), |_| String::new());
        started(&mut status, 0, "web");
        started(&mut status, 1, "batch");
        let mut partition = Partition::default();
        partition.place(AppId(1), 0);
        partition.add_cluster(WayMask::from_bits(0x700));
        let (plan, reason) = (PlanId(4), "because");
        status.action(3, &Action::Partition { plan, partition: &partition, reason }, &Known);
        let counters =
            Counters { instructions: Some(300), cycles: Some(200), ..Counters::default() };
        let window = Duration::from_millis(100);
        let (occupancy, straddled) = (Some(Q32::ratio(5, 2)), false);
        let sample = Sample { app: AppId(1), counters, occupancy, window, plan: None, straddled };
        status.event(3, Time::from_nanos(7), &Event::Sampled(sample), |_| String::new());

        assert_eq!((status.now_ns, status.domains[0].id, status.domains[0].ways), (7, 3, 11));
        let [cluster] = &status.domains[0].clusters[..] else { panic!("one cluster") };
        assert_eq!(
            (&cluster.programs[..], &cluster.tasks[..]),
            (&["batch".to_owned()][..], &[70][..])
        );
        let [web, batch] = &status.programs[..] else { panic!("two programs") };
        assert_eq!((web.ways, web.ipc), (None, None));
        assert_eq!((batch.mask.as_deref(), batch.ways), (Some("0x1c00"), Some(3)));
        assert_eq!((batch.ipc, batch.llcmpkc, batch.occupancy_ways), (Some(1.5), None, Some(2.5)));

        let why = PartitionError::NotPlaced { app: AppId(0) };
        let refused = Event::Refused { plan, why };
        status.event(3, Time::ZERO, &refused, |_| String::new());
        assert_eq!(status.domains[0].refused.as_deref(), Some("app 0 runs and is in no cluster"));
        status.event(3, Time::ZERO, &Event::Exited { app: AppId(0) }, |_| String::new());
        assert_eq!(status.programs.len(), 1);
    }
}
