//! A host whose policies assign the ways of caches, through resctrl.

mod node_choice;
mod plans;
mod programs;

use std::collections::BTreeMap;

use fairways_core::{Action, AppId, Counters, WayMask};
use fairways_programs::ProgramKey;
use fairways_resctrl::language::{Monitoring, Reading};
use fairways_resctrl_client::{Actuator, Error, Errors, Restored};

use super::agenda::{RARELY, SELDOM};
use super::mechanism::Mechanism;
use super::roster::FoundProgram;
use super::state::HostState;
use super::trouble::{Failure, Looked, Trouble};
use node_choice::NodeChoice;
use programs::ManagedProgram;

/// Resctrl, and what it needs to know of programs.
pub(super) struct CacheWays {
    actuator: Box<Actuator>,
    /// Whether plans are logged and not carried out.
    observe: bool,
    programs: BTreeMap<AppId, ManagedProgram>,
    /// While observing: the ways that others let programs fill, if these are not all.
    limits: BTreeMap<(u32, AppId), WayMask>,
    choice: NodeChoice,
    /// The reason of the last failed plan.
    failed: String,
}

impl CacheWays {
    pub(super) fn new(actuator: Box<Actuator>, observe: bool) -> Self {
        let (programs, limits) = (BTreeMap::new(), BTreeMap::new());
        let (choice, failed) = (NodeChoice::new(), String::new());
        Self { actuator, observe, programs, limits, choice, failed }
    }
}

impl Mechanism for CacheWays {
    fn survey(&mut self, state: &mut HostState) {
        for app in state.survey(self.actuator.domains(), None) {
            self.release(app, &mut state.trouble);
        }
    }

    fn look(&mut self, state: &mut HostState) {
        match self.actuator.look() {
            Ok(changes) => {
                state.trouble.seen(Looked::Resctrl);
                if changes.domains {
                    self.survey(state);
                }
                if !changes.lost.is_empty() || changes.limits {
                    self.apply_again(state);
                }
                state.domains.ask_again(state.agenda.now());
            }
            Err(why @ Error::Unmounted { .. }) => state.trouble.fail(Failure::Unmounted(why)),
            Err(why) => {
                self.actuator.erred(&why);
                state.trouble.not_seen(Looked::Resctrl, &why);
            }
        }
    }

    fn begin(&mut self, found: FoundProgram, state: &mut HostState) {
        self.take_in(found, None, state);
        self.see_limits(state);
    }

    fn end(&mut self, program: ProgramKey, state: &mut HostState) {
        for app in state.roster.members_of(program) {
            // Its latency source has to close before another program of its name opens one.
            drop(self.leave(app, state));
        }
    }

    fn list_threads(&mut self, state: &mut HostState) {
        // A program that may suddenly run elsewhere may then belong to another domain, which
        // nothing reports.
        let often = if state.domains.by_id.len() > 1 { SELDOM } else { RARELY };
        state.agenda.list_threads_after(often);
        self.divide(state);
        for (number, app) in state.roster.next_to_list().into_iter().enumerate() {
            if number > 0 && state.stops_listing(app) {
                break;
            }
            self.list_threads_of(app, state);
        }
        self.see_limits(state);
    }

    fn admit(&mut self, program: ProgramKey, thread: i32, state: &mut HostState) {
        for app in state.roster.members_of(program) {
            if let Err(why) = self.actuator.add_task(app, thread) {
                self.actuator.erred(&why);
                state.trouble.log(&why.to_string());
            }
        }
    }

    fn release(&mut self, app: AppId, trouble: &mut Trouble) {
        self.programs.remove(&app);
        if let Err(why) = self.actuator.remove(app) {
            self.actuator.erred(&why);
            trouble.log(&why.to_string());
        }
    }

    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState) {
        match action {
            Action::Partition { plan, partition, reason } => {
                self.partition(domain, plan, &partition, &reason, state);
            }
            Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. }
            | Action::Watch { .. }
            | Action::Wake { .. }
            | Action::Estimated { .. }
            | Action::Classified { .. } => {}
        }
    }

    fn report_in_force(&mut self, state: &mut HostState) {
        self.report_changed(None, state);
    }

    fn occupied_bytes(&mut self, app: AppId, domain: u32) -> Option<u64> {
        value(self.actuator.occupancy(app, domain))
    }

    fn counting_group(&self, app: AppId) -> u32 {
        self.actuator.counting_group(app)
    }

    fn count_bytes(&mut self, app: AppId, domain: u32, counters: &mut Counters) {
        if self.actuator.monitoring().is_some_and(counts_bytes) {
            counters.memory_bytes = value(self.actuator.memory_bytes(app, domain));
        }
    }

    fn close(self: Box<Self>) -> Restored {
        self.actuator.close()
    }

    fn errors(&self) -> &Errors {
        self.actuator.errors()
    }

    fn actuator(&self) -> Option<&Actuator> {
        Some(&self.actuator)
    }

    fn limits(&self) -> Option<&BTreeMap<(u32, AppId), WayMask>> {
        self.observe.then_some(&self.limits)
    }

    fn left(&self, app: AppId) -> Option<&BTreeMap<String, usize>> {
        self.programs.get(&app).map(|program| &program.left)
    }
}

impl CacheWays {
    /// Makes each NUMA node a domain if several share a cache and every program is bound to one of
    /// them; otherwise each cache.
    fn divide(&mut self, state: &mut HostState) {
        let nodes = self.actuator.nodes();
        let are_bound = !nodes.is_empty() && state.are_all_within(&nodes);
        let by_node = self.choice.update(are_bound);
        if self.actuator.divide(by_node) {
            tracing::info!(
                target: "fairways::machine", by_node,
                "a domain is now {}",
                if by_node { "a NUMA node, since all programs are bound to one" } else { "a cache" }
            );
            self.survey(state);
            // The open windows began with counts of other places: of caches or of nodes.
            state.counting.restart(None, state.agenda.now(), self);
        }
    }
}

impl CacheWays {
    /// Records the ways that others let programs fill, if no plan does.
    fn see_limits(&mut self, state: &HostState) {
        self.limits.clear();
        if !self.observe {
            return;
        }
        for (&app, member) in &state.roster.members {
            let Some(managed) = self.programs.get(&app) else { continue };
            let are_in_root = managed.left.values().sum::<usize>() < member.tasks.len().max(1);
            for &domain in &member.domains {
                let limit = self.actuator.limit(managed.left.keys(), are_in_root, domain);
                self.limits.extend(limit.map(|mask| ((domain, app), mask)));
            }
        }
    }
}

fn counts_bytes(monitoring: &Monitoring) -> bool {
    monitoring.events.iter().any(|name| name == "mbm_total_bytes")
}

fn value(reading: Reading) -> Option<u64> {
    match reading {
        Reading::Value(bytes) => Some(bytes),
        _ => None,
    }
}
