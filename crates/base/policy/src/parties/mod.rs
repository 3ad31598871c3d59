//! `parties`: resources for services one at a time, by what their tail latency says (Chen,
//! Delimitrou and Martinez, PARTIES, ASPLOS 2019, §4).
//!
//! Every half second the slack of each service is (target - tail) / target. If the least slack is
//! below 0.05, that service is *upsized*: it gets a unit of one resource, from the programs without
//! an objective first, then from the service with the greatest slack. If its tail is lower after
//! that, it gets the same resource again; otherwise the next one, and keeps what it got. If the
//! greatest slack is above 0.2, that service is *downsized* by a unit; if it misses its objective
//! then, the unit returns, and no service is downsized for half a minute.
//!
//! Of the paper's resources there are ways here: cores and clocks are not what a machine lets a
//! policy set. Memory bandwidth, which PARTIES' machine could not limit, is the second resource
//! where a machine can: a unit is a step of the level. docs/decisions.md settles the rest.

mod service;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Event, Llc, PlanId, Policy,
    Resources, Time, WindowLength,
};

use crate::parameter::{MILLISECOND, parameters};
use crate::running::{Change, RunningPrograms, leave_unpartitioned};
use crate::split::Stack;
use crate::table::{DecisionScope, Descriptor, KnowledgeSource, OwnerRequest, make};
use service::{SizedResource, SizedService};

parameters! {
    /// The parameters of PARTIES.
    pub struct PartiesParameters {
        /// How often it decides.
        period: Duration = Duration::from_millis(500), "", "PARTIES §4", least MILLISECOND;

        /// A service with less slack than this is upsized.
        upsize_slack_percent: u32 = 5, "percent", "PARTIES §4", most 100;

        /// A service with more slack than this is downsized.
        downsize_slack_percent: u32 = 20, "percent", "PARTIES §4", most 100;

        /// No service is downsized for this long after a downsizing went wrong.
        downsize_pause: Duration = Duration::from_secs(30), "", "PARTIES §4";

        /// Whether memory bandwidth is a resource, where the machine can limit it.
        bandwidth: bool = true, "", "ours; as in CLITE, without its sum of levels";
    }
}

/// `parties`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Chen, Delimitrou and Martinez, ASPLOS 2019",
    decides: DecisionScope::WaysAndBandwidth,
    knows: KnowledgeSource::Latencies,
    honours: &[OwnerRequest::Objectives],
    ..Descriptor::new::<PartiesParameters>(
        "parties",
        "resources for services one at a time, by the slack of their tail latency",
        &|given| make(PartiesParameters::default(), Parties::new, given),
    )
};

/// The `parties` policy.
#[derive(Clone, Debug, Default)]
pub struct Parties {
    parameters: PartiesParameters,
    running: RunningPrograms,
    /// The services that have resources of their own, in the order in which they started.
    services: Vec<SizedService>,
    /// The ways of all other programs, and their level.
    rest: u32,
    rest_level: Option<BandwidthLevel>,
    /// The service that was changed at the last period's end.
    change: Option<LastChange>,
    no_downsizing_until: Time,
    plan: Option<PlanId>,
    is_armed: bool,
}

/// A change whose effect the next period shows.
#[derive(Clone, Copy, Debug)]
struct LastChange {
    app: AppId,
    is_upsize: bool,
    tail: u64,
}

const FEW: &str = "an equal share for each service, and the rest for all others";
const UPSIZED: &str = "a service with too little slack is upsized";
const DOWNSIZED: &str = "a service with much slack is downsized";
const RETURNED: &str = "a service that was downsized misses its objective: the unit returns";
const NONE: &str = "no service with an objective: no partitioning";

impl Parties {
    /// The policy with these parameters; [`PartiesParameters::default`] is what was published.
    #[must_use]
    pub fn new(parameters: PartiesParameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The lever of bandwidth, if it is a resource. Where the kernel steers it, it is not.
    fn lever(&self) -> Option<BandwidthLever> {
        let lever = self.running.levers()?.bandwidth.filter(|_| self.parameters.bandwidth);
        lever.filter(|lever| lever.unit != BandwidthUnit::MibPerSecond)
    }

    /// Whether any program has no resources of its own.
    fn has_rest(&self) -> bool {
        self.services.len() < self.running.programs().len()
    }

    /// Begins again with even shares (§4: at first).
    fn restart(&mut self, llc: &Llc) {
        let most = llc.max_clusters() as usize;
        let requested =
            self.running.programs().iter().filter_map(|program| {
                Some(SizedService::new(program.app, program.wish.objective?))
            });
        let requested: Vec<SizedService> = requested.collect();
        let are_all = requested.len() == self.running.programs().len() && requested.len() <= most;
        let room = if are_all { most } else { most - 1 };
        self.services = requested;
        self.services.truncate(room);
        let shares = u32::try_from(self.services.len()).unwrap_or(u32::MAX);
        let shares = (shares + u32::from(self.has_rest())).max(1);
        let (share, left) = (llc.ways.get() / shares, llc.ways.get() % shares);
        for service in &mut self.services {
            service.ways = share;
        }
        self.rest = if self.has_rest() { share + left } else { 0 };
        if let Some(last) = self.services.last_mut().filter(|_| self.rest == 0) {
            last.ways += left;
        }
        (self.rest_level, self.change) = (None, None);
    }

    fn make_plan(&mut self, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        let Self { running, services, rest, rest_level, .. } = self;
        self.plan = running.plan(act, |llc, programs, partition, announcer| {
            if services.is_empty() {
                leave_unpartitioned(llc, programs, partition);
                for program in programs {
                    announcer.announce_class(program.app, "best effort", NONE);
                }
                return NONE;
            }
            let mut stack = Stack::new(llc);
            for service in services.iter() {
                let mask = stack.next(service.ways);
                let own = partition.add(Resources { mask, bandwidth: service.level });
                partition.place(service.app, own);
                service.announce(announcer);
            }
            let mut others = programs
                .iter()
                .filter(|program| !services.iter().any(|service| service.app == program.app))
                .peekable();
            if others.peek().is_some() {
                let mask = stack.next(*rest);
                let cluster = partition.add(Resources { mask, bandwidth: *rest_level });
                for program in others {
                    partition.place(program.app, cluster);
                    announcer.announce_class(program.app, "best effort", "it has no objective");
                }
            }
            reason
        });
    }

    /// Ends a period.
    fn decide(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        if let Some(reason) = self.change_one(at, &llc) {
            self.make_plan(reason, act);
        } else {
            let mut announcer = self.running.announcer(act);
            self.services.iter().for_each(|service| service.announce(&mut announcer));
        }
        for service in &mut self.services {
            service.tail = None;
        }
    }

    /// Changes one service by a unit (§4, the main loop); the reason, if anything changed.
    fn change_one(&mut self, at: Time, llc: &Llc) -> Option<&'static str> {
        let p = self.parameters;
        if let Some(LastChange { app, is_upsize, tail }) = self.change.take() {
            let service = self.services.iter_mut().find(|service| service.app == app)?;
            let now = service.tail?;
            if !is_upsize
                && service.slack().is_some_and(|slack| slack < share(p.upsize_slack_percent))
            {
                service.wheel = service.wheel.next();
                let (given, index) = (service.given.take()?, self.index(app)?);
                self.no_downsizing_until = at.after(p.downsize_pause);
                return self.take(llc, index, given).then_some(RETURNED);
            }
            if is_upsize && now >= tail {
                service.wheel = service.wheel.next();
            }
        }
        let (least, index) = self.slacks().min()?;
        if least < share(p.upsize_slack_percent) {
            return self.upsize(llc, index).then_some(UPSIZED);
        }
        let (most, index) = self.slacks().max()?;
        if most > share(p.downsize_slack_percent) && at >= self.no_downsizing_until {
            return self.downsize(llc, index).then_some(DOWNSIZED);
        }
        None
    }

    /// The slack of each service that has one, with its place.
    fn slacks(&self) -> impl Iterator<Item = (i64, usize)> + '_ {
        let slacks = self.services.iter().enumerate();
        slacks.filter_map(|(index, service)| Some((service.slack()?, index)))
    }

    fn index(&self, app: AppId) -> Option<usize> {
        self.services.iter().position(|service| service.app == app)
    }

    /// Gives a service a unit of the resource at which it is, or of the first one after that of
    /// which there is a unit.
    fn upsize(&mut self, llc: &Llc, index: usize) -> bool {
        for _ in SizedResource::ALL {
            let resource = self.services[index].wheel;
            if self.take(llc, index, resource) {
                let SizedService { app, tail, .. } = self.services[index];
                let tail = tail.unwrap_or(u64::MAX);
                self.change = Some(LastChange { app, is_upsize: true, tail });
                return true;
            }
            self.services[index].wheel = resource.next();
        }
        false
    }

    /// Gives a service a unit of this resource: from best effort, else from the service with the
    /// greatest slack.
    fn take(&mut self, llc: &Llc, index: usize, resource: SizedResource) -> bool {
        let donors = self.services.iter().enumerate().filter(|&(donor, _)| donor != index);
        let donor = donors.max_by_key(|(_, service)| service.slack()).map(|(donor, _)| donor);
        match resource {
            SizedResource::Ways => {
                let least = llc.min_ways();
                if self.rest > least && self.has_rest() {
                    self.rest -= 1;
                } else if let Some(donor) = donor.filter(|&of| self.services[of].ways > least) {
                    self.services[donor].ways -= 1;
                } else {
                    return false;
                }
                self.services[index].ways += 1;
                true
            }
            SizedResource::Bandwidth => {
                let Some(lever) = self.lever() else { return false };
                if let Some(own) = self.services[index].level {
                    self.services[index].level = raised(lever, own);
                    return true;
                }
                let lower =
                    |level: Option<BandwidthLevel>| lever.below(level.unwrap_or(lever.most));
                if let Some(level) = lower(self.rest_level).filter(|_| self.has_rest()) {
                    self.rest_level = Some(level);
                } else if let Some(donor) = donor
                    && let Some(level) = lower(self.services[donor].level)
                {
                    self.services[donor].level = Some(level);
                } else {
                    return false;
                }
                true
            }
        }
    }

    /// Takes a unit from a service, for best effort.
    fn downsize(&mut self, llc: &Llc, index: usize) -> bool {
        for _ in SizedResource::ALL {
            let lever = self.lever();
            let service = &mut self.services[index];
            let resource = service.wheel;
            let is_done = match resource {
                SizedResource::Ways => service.ways > llc.min_ways() && self.rest > 0,
                SizedResource::Bandwidth => self.rest_level.is_some(),
            };
            if is_done {
                match (resource, lever, self.rest_level) {
                    (SizedResource::Ways, ..) => {
                        (service.ways, self.rest) = (service.ways - 1, self.rest + 1)
                    }
                    (_, Some(lever), Some(level)) => self.rest_level = raised(lever, level),
                    _ => self.rest_level = None,
                }
                service.given = Some(resource);
                let (app, tail) = (service.app, service.tail.unwrap_or(u64::MAX));
                self.change = Some(LastChange { app, is_upsize: false, tail });
                return true;
            }
            service.wheel = resource.next();
        }
        false
    }

    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        self.restart(&llc);
        for service in &self.services {
            let is_news = match change {
                Change::Started => {
                    self.running.programs().last().map(|last| last.app) == Some(service.app)
                }
                Change::Wish { .. } => true,
                Change::Machine | Change::Exited(_) => false,
            };
            if is_news {
                act(Action::Watch {
                    app: service.app,
                    every: WindowLength::Time(self.parameters.period),
                });
            }
        }
        if !self.services.is_empty() && !core::mem::replace(&mut self.is_armed, true) {
            act(Action::Wake { at: at.after(self.parameters.period) });
        }
        self.make_plan(FEW, act);
    }
}

/// A step above; `None` is no limit.
fn raised(lever: BandwidthLever, level: BandwidthLevel) -> Option<BandwidthLevel> {
    lever.above(level).filter(|above| *above < lever.most)
}

/// A percentage, in units of 2^-32.
fn share(percent: u32) -> i64 {
    (i64::from(percent) << 32) / 100
}

impl Policy for Parties {
    fn name(&self) -> &'static str {
        "parties"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Latency(latencies) => {
                if let Some(service) =
                    self.services.iter_mut().find(|service| service.app == latencies.app)
                {
                    service.record(latencies);
                }
            }
            Event::Woke => {
                self.is_armed = !self.services.is_empty();
                if self.is_armed {
                    act(Action::Wake { at: at.after(self.parameters.period) });
                    self.decide(at, act);
                }
            }
            _ => {
                let before =
                    self.running.programs().iter().filter(|of| of.wish.objective.is_some());
                let before = before.count();
                let Some(change) = self.running.update(event) else { return };
                let now = self.running.programs().iter().filter(|of| of.wish.objective.is_some());
                let is_ours = now.count() != before
                    || self.services.iter().any(|service| {
                        let program =
                            self.running.programs().iter().find(|of| of.app == service.app);
                        program.is_none_or(|of| of.wish.objective != Some(service.objective))
                    });
                if is_ours || !matches!(change, Change::Wish { .. }) {
                    self.follow(at, change, act);
                }
            }
        }
    }
}
