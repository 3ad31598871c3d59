//! The rules, what the machine has published, and the clock.

use std::io;
use std::time::{Duration, Instant};

use fairways_core::WayMask;
use fairways_emulated::{Effect, Operation};
use fairways_resctrl_rules::platform::{Platform, Resource};
use fairways_resctrl_rules::rules::{Class, Node, Resctrl, Side};

use crate::clock::Clock;
use crate::faults::Faults;
use crate::hardware::{ClassLimit, CpuClass};
use crate::outside::Outside;
use crate::placeholder::Placeholder;
use crate::readings::PublishedReadings;
use crate::tasks::{Changes, Inheritance, Snapshot};

/// How old the last look at /proc may be when tasks are read.
const FRESH: Duration = Duration::from_millis(50);

/// The rules, what they ask of their surroundings, and the clock. The machine itself is the
/// simulating thread's.
pub(crate) struct State {
    pub(crate) rules: Resctrl,
    pub(crate) outside: Outside,
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
    /// When /proc was last read; `None`: no task has been moved so far, so that nothing is
    /// inherited.
    looked: Option<Instant>,
}

/// A CPU, as it matters for the classes of who runs on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuPlace {
    own: Class,
    /// Its L3's domain, for limits.
    domain: Option<u32>,
    /// Its last-level cache's, for masks.
    cache: Option<u32>,
    /// Its node, where nodes share a cache.
    node: Option<u32>,
}

impl CpuPlace {
    /// Whether a class has the same there.
    fn is_like(&self, other: &Self) -> bool {
        (self.domain, self.cache, self.node) == (other.domain, other.cache, other.node)
    }
}

impl State {
    pub(crate) fn new(
        platform: Platform,
        names: Vec<String>,
        placeholders: Vec<Placeholder>,
        clock: Clock,
    ) -> Self {
        let outside = Outside {
            platform: platform.clone(),
            readings: PublishedReadings::default(),
            names,
            placeholders,
            inheritance: Inheritance::default(),
            tasks_error: None,
        };
        Self {
            rules: Resctrl::new(platform),
            outside,
            clock,
            faults: Faults::default(),
            looked: None,
        }
    }

    /// A program is over: so is its placeholder.
    pub(crate) fn end(&mut self, program: usize) {
        let placeholder = &mut self.outside.placeholders[program];
        placeholder.end();
        self.rules.exited(placeholder.thread());
    }

    /// The CPUs, as they matter for classes.
    pub(crate) fn places(&self) -> Vec<CpuPlace> {
        let platform = &self.outside.platform;
        let cache = platform.last_shared_cache();
        let each = (0..platform.cpu_limit()).map(|cpu| CpuPlace {
            own: self.rules.class_of_cpu(cpu),
            domain: platform.domain_of(Resource::L3, cpu),
            cache: platform.domain_of(cache, cpu),
            node: self.outside.node_of(cpu),
        });
        each.collect()
    }

    /// A program's classes, by CPU.
    pub(crate) fn classes(&self, program: usize, places: &[CpuPlace]) -> Vec<CpuClass> {
        let thread = self.outside.placeholders[program].thread();
        let mut by_cpu = Vec::with_capacity(places.len());
        let mut last: Option<(Class, CpuPlace, CpuClass)> = None;
        for place in places {
            let class = self.rules.class_beside(thread, place.own);
            // Most CPUs are like the one before.
            let fill = match last {
                Some((before, like, fill)) if before == class && like.is_like(place) => fill,
                _ => self.cpu_class(class, place),
            };
            last = Some((class, *place, fill));
            by_cpu.push(fill);
        }
        by_cpu
    }

    fn cpu_class(&self, class: Class, place: &CpuPlace) -> CpuClass {
        let cache = self.outside.platform.last_shared_cache();
        let mask =
            place.cache.and_then(|domain| self.rules.mask(cache, Side::Data, class.closid, domain));
        // Without allocation, every program may fill all ways.
        let mask = WayMask::from_bits(mask.unwrap_or(u32::MAX));
        let limit = place.domain.and_then(|domain| self.limit(class.closid, domain));
        let mark = self.outside.mark_in(class, place.node);
        CpuClass { mask, mark, limit }
    }

    /// The limit of a class's memory bandwidth in a domain; `None`: as much as the platform has.
    fn limit(&self, closid: u32, domain: u32) -> Option<ClassLimit> {
        let most = self.outside.platform.mb.as_ref()?.max;
        let of_memory = self.outside.platform.bandwidth_domain_of(domain);
        let value = self.rules.bandwidth(Resource::Mb, closid, of_memory)?;
        let class = u16::try_from(closid).ok()?;
        (value < most).then_some(ClassLimit { class, value })
    }

    /// Finds new threads of the system, by their ids where the kernel shows the newest one, else by
    /// reading all of /proc. Before tasks are read, all of it unless that was done just now; before
    /// they are moved in any case, or a thread born since would later be taken for a child that
    /// inherits.
    ///
    /// # Errors
    /// If they can't be read; all stay where they are then.
    pub(crate) fn refresh_tasks(&mut self, moves: bool) -> io::Result<()> {
        if self.looked.is_some()
            && let Some(births) = self.outside.inheritance.births()?
        {
            self.inherited(births);
        } else if moves || self.looked.is_some_and(|then| then.elapsed() >= FRESH) {
            self.inherit(Snapshot::new(self.outside.inheritance.looks())?);
        }
        Ok(())
    }

    /// The number of looks after which another one is due, from time to time.
    pub(crate) fn look_is_due(&self, apart: Duration) -> Option<u64> {
        let due = self.looked.is_some_and(|then| then.elapsed() >= apart);
        due.then(|| self.outside.inheritance.looks())
    }

    /// Applies a look.
    pub(crate) fn inherit(&mut self, look: Snapshot) {
        let changes = self.outside.inheritance.changes_since(look);
        self.inherited(changes);
        self.looked = Some(Instant::now());
    }

    fn inherited(&mut self, changes: Changes) {
        for thread in changes.exited {
            self.rules.exited(thread);
        }
        for (parent, child) in changes.forked {
            self.rules.forked(parent, child);
        }
    }

    /// The effects on an operation; a group that a fault removes is removed here.
    pub(crate) fn faults_of(
        &mut self,
        operation: Operation,
        node: Node,
        name: Option<&str>,
    ) -> Vec<Effect> {
        if self.faults.is_empty() {
            return Vec::new();
        }
        let mut path = self.path(node);
        if let Some(name) = name {
            if !path.ends_with('/') {
                path.push('/');
            }
            path.push_str(name);
        }
        let is_event =
            name.is_none() && matches!(node, Node::MonEvent(..) | Node::MonNodeEvent(..));
        let met = self.faults.met(operation, &path, is_event);
        if met.contains(&Effect::Vanishes) {
            let at = name.and_then(|name| self.rules.lookup(node, name)).unwrap_or(node);
            if let Some(group) = at.group() {
                // The root does not vanish.
                let _ = self.rules.rmdir(Node::Group(group), &mut self.outside);
            }
        }
        met
    }

    /// The path of a file or directory, from the mount on.
    pub(crate) fn path(&self, node: Node) -> String {
        let mut names = Vec::new();
        let mut at = node;
        while let Some(parent) = self.rules.parent(at) {
            names.push(self.rules.name(at));
            at = parent;
        }
        names.reverse();
        format!("/{}", names.join("/"))
    }
}

impl State {
    /// Takes a CPU off line, or puts it on line; the error is one line.
    pub(crate) fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), String> {
        if !self.outside.platform.all_cpus().contains(cpu) {
            let last = self.outside.platform.cpu_limit().saturating_sub(1);
            return Err(format!("cpu: expected a CPU from 0 to {last}, found {cpu}"));
        }
        if online {
            self.rules.cpu_online(cpu, &mut self.outside);
        } else if self.rules.online().len() == 1 && self.rules.online().contains(cpu) {
            return Err("cpu: the last CPU stays on line".to_owned());
        } else {
            self.rules.cpu_offline(cpu);
        }
        Ok(())
    }
}
