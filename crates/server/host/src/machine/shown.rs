//! The state of a host for `status` and for metrics.

use std::collections::BTreeMap;

use fairways_core::{AppId, Counter, Llc, PlanId, WayMask};
use fairways_programs::Wanted;
use fairways_resctrl_client::Errors;
use fairways_resctrl_client::managers::manager_of;

use super::Host;
use super::mechanism::SchedulerCounts;
use super::roster::Member;
use super::traffic_check::MANY_MISSES;

/// A program in its present state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its id.
    pub app: AppId,
    /// Its name.
    pub name: String,
    /// The number of its threads.
    pub tasks: usize,
    /// The domains that it runs in, each with the offered ways that it may fill under the plan in
    /// force; `None` if it has no place, and fills every way. If plans are only observed, the ways
    /// that it would get.
    pub masks: Vec<(u32, Option<WayMask>)>,
}

/// A domain in its present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownDomain {
    /// Its number.
    pub id: u32,
    /// What policies are offered of its cache.
    pub llc: Llc,
    /// Bytes of a way; 0 if unknown.
    pub way_bytes: u64,
}

impl Host {
    /// The programs that are managed, in the order in which they were found.
    #[must_use]
    pub fn programs(&self) -> Vec<Shown> {
        let members = self.state.roster.members.iter();
        members.map(|(&app, member)| self.shown(app, member)).collect()
    }

    fn shown(&self, app: AppId, member: &Member) -> Shown {
        let masks = member.domains.iter().map(|&id| {
            let domain = self.state.domains.get(id);
            (id, domain.and_then(|domain| domain.plan.actual.mask_of(app)))
        });
        let (name, tasks) = (member.name.clone(), member.tasks.len());
        Shown { app, name, tasks, masks: masks.collect() }
    }

    /// The programs that were requested but not found; `None` if that is not known, as no look has
    /// succeeded yet, or the last one failed.
    #[must_use]
    pub fn unmatched(&self) -> Option<Vec<&Wanted>> {
        let roster = &self.state.roster;
        roster.are_known.then(|| roster.programs.unmatched().collect())
    }

    /// The name of a program that was found and has not ended.
    #[must_use]
    pub fn name(&self, app: AppId) -> Option<&str> {
        self.state.roster.name(app)
    }

    /// A program's threads as of the last look; none if it was not found or has ended.
    #[must_use]
    pub fn tasks(&self, app: AppId) -> &[i32] {
        let member = self.state.roster.members.get(&app);
        member.map_or(&[], |member| member.tasks.as_slice())
    }

    /// The ways of each domain that others let programs fill, if these are not all; `None` if the
    /// partition in force shows what programs may fill.
    #[must_use]
    pub fn limits(&self) -> Option<&BTreeMap<(u32, AppId), WayMask>> {
        self.mechanism.limits()
    }

    /// The programs with threads that are not managed, and the reason: the threads are in groups of
    /// others, or others moved them.
    #[must_use]
    pub fn not_managed(&self) -> BTreeMap<AppId, String> {
        let mut not_managed = BTreeMap::new();
        let limits = self.limits().filter(|_| self.actuator().is_none());
        for (&(domain, app), mask) in limits.into_iter().flatten() {
            let why = format!("another manager lets it fill {mask} of domain {domain} only");
            not_managed.insert(app, why);
        }
        for (&app, member) in &self.state.roster.members {
            let uncounted = self.actuator().map_or(0, |actuator| actuator.uncounted(app));
            let of = member.tasks.len();
            let left = self.mechanism.left(app).into_iter().flatten();
            let groups = left.map(|(group, threads)| {
                let name = group.rsplit('/').next().unwrap_or_default();
                format!("{threads} of {of} threads in {group}, of {}", manager_of(name))
            });
            let groups: Vec<String> = groups.collect();
            if groups.is_empty() && uncounted == 0 {
                continue;
            }
            let mut why = match groups.is_empty() {
                false => format!("left to others: {}", groups.join("; ")),
                true => "threads are in none of its groups".to_owned(),
            };
            if uncounted > 0 {
                let missing = "so its occupancy and memory traffic are missing";
                why += &format!("; nothing counts {uncounted} of its threads, {missing}");
            }
            not_managed.insert(app, why);
        }
        not_managed
    }

    /// The plan in force in a domain; `None` before the first.
    #[must_use]
    pub fn plan(&self, domain: u32) -> Option<PlanId> {
        self.state.domains.get(domain)?.plan.id
    }

    /// The domains.
    #[must_use]
    pub fn domains(&self) -> Vec<ShownDomain> {
        let there = self.state.domains.by_id.iter().filter(|(_, domain)| !domain.is_gone);
        there
            .map(|(&id, domain)| ShownDomain { id, llc: domain.llc, way_bytes: domain.way_bytes })
            .collect()
    }

    /// Resctrl's client, if policies act through it.
    #[must_use]
    pub fn actuator(&self) -> Option<&fairways_resctrl_client::Actuator> {
        self.mechanism.actuator()
    }

    /// Problems that do not stop policies, a line each.
    #[must_use]
    pub fn degraded(&self) -> Vec<String> {
        let mut lines = self.mechanism.degraded();
        let mut silent: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (domain, app) in self.state.counting.traffic.silent() {
            silent.entry(domain).or_default().extend(self.name(app));
        }
        lines.extend(silent.into_iter().map(|(domain, names)| {
            format!(
                "memory traffic in domain {domain} stays at 0 beside more than {MANY_MISSES} misses, and is taken as missing: of {}",
                names.join(", ")
            )
        }));
        lines.extend(self.state.roster.places.degraded());
        lines.extend(self.state.trouble.unseen().cloned());
        for (id, domain) in &self.state.domains.by_id {
            lines.extend(domain.plan.trouble().map(|line| format!("domain {id}: {line}")));
        }
        lines
    }

    /// Whether a starting container waits for an answer; long work should be put off then.
    #[must_use]
    pub const fn has_announcements(&self) -> bool {
        self.announcements.are_unanswered()
    }

    /// The number of programs that pods request but that have no place, so that they are not
    /// managed.
    #[must_use]
    pub fn without_place(&self) -> usize {
        self.state.roster.places.count_without()
    }

    /// What happened to the scheduler, if policies act through one.
    #[must_use]
    pub fn scheduler_counts(&self) -> Option<SchedulerCounts> {
        self.mechanism.scheduler_counts()
    }

    /// The counters that are not counted for any program, with the reason; `None` if nothing reads
    /// them.
    #[must_use]
    pub fn uncounted(&self) -> Vec<(Counter, Option<String>)> {
        self.state.counting.source.uncounted()
    }

    /// How often requests of policies failed, or something that these requests depend on.
    #[must_use]
    pub fn errors(&self) -> &Errors {
        self.mechanism.errors()
    }

    /// The name of the present scheduler, if policies act through one.
    #[must_use]
    pub fn scheduler(&self) -> Option<&'static str> {
        self.mechanism.scheduler()
    }

    /// The CPUs of a domain, in the order in which its policy numbers them; none if CPUs are not
    /// reported to it.
    #[must_use]
    pub fn cpus(&self, domain: u32) -> &[u32] {
        self.state.domains.get(domain).map_or(&[], |domain| domain.cpus.as_slice())
    }
}
