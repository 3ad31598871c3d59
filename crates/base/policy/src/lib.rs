//! Every policy of Fairways, one folder each, and the code that several of them share.
//!
//! A policy is a [`Policy`]: a state machine from events to actions without I/O, clock, random
//! numbers or floating point. [`POLICIES`] is the table of policies ([`Descriptor`]) that the
//! command line, the daemon and the documentation use; [`by_name`] makes a policy from its name.
//!
//! | name | folder | what it does |
//! |---|---|---|
//! | `stock` | [`stock`] | one cluster with every way: no partitioning |
//! | `equal` | [`equal`] | the same number of ways for every program |
//! | `static` | [`fixed`] | the ways promised to each program |
//! | `ucp` | [`ucp`] | the fewest misses (Qureshi and Patt's lookahead on MPKI) |
//! | `ucp-slowdown` | [`ucp`] | the same on slowdown tables (LFOC §2.3.1) |
//! | `yu-petrov` | [`ucp`] | the same on memory bandwidth (Yu and Petrov) |
//! | `dcat` | [`dcat`] | promised ways first, spare ways to programs that gain from them |
//! | `locpart` | [`locpart`] | a tail latency for services, the other ways for batch programs |
//! | `parties` | [`parties`] | ways and bandwidth for services, one unit at a time |
//! | `dunn` | [`dunn`] | programs clustered by their stalls, in partitions that overlap |
//! | `kpart` | [`kpart`] | programs that harm each other least in one cluster |
//! | `lfoc` | [`lfoc`] | LFOC: streaming programs confined, sensitive ones isolated |
//! | `lfoc-plus` | [`lfoc`] | LFOC+: the same, sensitive ones in pairs where that is fairer |
//! | `fairways` | [`fairways`] | the fairest clustering that a local search from LFOC+'s finds |
//! | `mba-feedback` | [`mba_feedback`] | each program's traffic steered to a target, as by Linux |
//! | `casc` | [`casc`] | threads that miss much on few CPUs, never all at once |
//! | `cache-fair` | [`cache_fair`] | more CPU time for threads that the shared cache slows down |
//!
//! `casc` and `cache-fair` schedule threads and leave the cache unpartitioned.
//!
//! Before a plan, a policy announces what it found out about programs: their classes, and the
//! numbers that [`words`] names.
//!
//! For every machine and every mix (more programs than ways, fewer classes of service than
//! clusters, one program, none), [`fairways_core::Partition::check`] accepts the plan.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;
// A file of `tests` is a module of the unit tests.
#[cfg(test)]
extern crate self as fairways_policy;

pub mod cache_fair;
pub mod casc;
pub mod dcat;
pub mod dunn;
pub mod equal;
pub mod fairways;
pub mod fixed;
pub mod kpart;
pub mod lfoc;
pub mod locpart;
pub mod mba_feedback;
pub mod parameter;
pub mod parties;
pub mod regression;
pub mod stock;
pub mod table;
pub mod ucp;
pub mod words;

mod announce;
#[cfg(test)]
#[path = "../tests/defaults.rs"]
mod defaults;
mod layout;
mod linear;
mod lookahead;
mod occupancy;
mod profile_watch;
mod program;
mod running;
mod sharing;
mod slowdown;
mod split;
mod wide;

use alloc::boxed::Box;

use fairways_core::Policy;

pub use linear::{least_change, solve};
pub use occupancy::{Occupancy, interpolate, sweep_step};
pub use slowdown::{Reference, slowdown_table};
pub use table::Descriptor;

/// All policies, in the order in which tables show them.
pub const POLICIES: &[Descriptor] = &[
    stock::POLICY,
    equal::POLICY,
    fixed::POLICY,
    ucp::UCP,
    ucp::UCP_SLOWDOWN,
    ucp::YU_PETROV,
    dcat::POLICY,
    locpart::POLICY,
    parties::POLICY,
    dunn::POLICY,
    kpart::POLICY,
    lfoc::LFOC,
    lfoc::LFOC_PLUS,
    fairways::POLICY,
    mba_feedback::POLICY,
    casc::POLICY,
    cache_fair::POLICY,
];

/// The name of the policy that decides where none is chosen.
pub const DEFAULT: &str = fairways::POLICY.name;

/// The names of [`POLICIES`], in the same order.
pub const NAMES: [&str; POLICIES.len()] = {
    let mut names = [""; POLICIES.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = POLICIES[place].name;
        place += 1;
    }
    names
};

/// The table's entry for the policy with this name; `None` if no policy has it.
#[must_use]
pub fn descriptor(name: &str) -> Option<&'static Descriptor> {
    POLICIES.iter().find(|policy| policy.name == name)
}

/// The policy with this name and its published parameters; `None` if no policy has the name.
#[must_use]
pub fn by_name(name: &str) -> Option<Box<dyn Policy>> {
    descriptor(name).map(|policy| policy.make(&[]).policy)
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::parameter::Value;
    use super::*;

    #[test]
    fn every_name_makes_the_policy_of_that_name() {
        for name in NAMES {
            assert_eq!(by_name(name).unwrap().name(), name);
        }
        assert!(by_name("nonesuch").is_none());
    }

    /// A default is a value like every other: it can be set, and has a help text.
    #[test]
    fn every_parameter_can_be_set_to_its_default() {
        for policy in POLICIES {
            let made = policy.make(&[]).parameters;
            assert_eq!(made.len(), policy.parameters.len());
            for (parameter, (name, value)) in policy.parameters.iter().zip(made) {
                assert_eq!(parameter.name, name);
                let text = match value {
                    Value::Time(time) => time.as_nanos().to_string(),
                    other => other.to_string(),
                };
                assert_eq!(parameter.read(&text), Ok(value), "{}: {name}", policy.name);
                let help = parameter.help();
                assert!(help.len() > 10 && !help.contains('\n'), "{name}: {help}");
                assert!(!parameter.source.is_empty(), "{name}");
                let set = policy.make(&[(name, value)]).parameters;
                assert!(set.contains(&(name, value)), "{name}");
            }
        }
    }

    /// The error for a text that is no value of this parameter.
    fn refused(policy: &str, name: &str, text: &str) -> String {
        descriptor(policy).unwrap().parameter(name).unwrap().read(text).unwrap_err()
    }

    #[test]
    fn a_text_that_is_no_value_is_refused_with_what_was_expected() {
        assert_eq!(refused("lfoc", "reference", "worst"), "best or whole-cache");
        assert_eq!(refused("lfoc", "pair_clustering", "1"), "true or false");
        assert_eq!(refused("lfoc", "normal_window", "0"), "a whole number, at least 1");
        assert_eq!(refused("lfoc", "decision_period", "1"), "a time such as 500ms, at least 1ms");
        let most = "a number with at most 10 decimals from 0.0625 to 100";
        assert_eq!(refused("casc", "unit", "200"), most);
        assert_eq!(refused("lfoc", "max_streaming_way", "5000000000"), "a whole number");
    }

    /// A policy that does not honour objectives ignores them.
    #[test]
    fn an_objective_changes_no_plan_but_locpart_s() {
        use fairways_core::{AppId, Event, Llc, Objective, Q32, Time, Ways, Wish};
        for descriptor in POLICIES {
            if descriptor.honours(table::OwnerRequest::Objectives) {
                continue;
            }
            let name = descriptor.name;
            let mut policy = by_name(name).unwrap();
            let llc = Llc::with_ways(Ways::new(8).unwrap());
            let started =
                |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
            for event in [Event::Machine(llc.into()), started(0), started(1)] {
                policy.handle(Time::ZERO, &event, &mut |_| ());
            }
            let slo = core::time::Duration::from_millis(2);
            let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
            let wish = Wish { objective, ..Wish::default() };
            let wished = Event::Wished { app: AppId(1), wish };
            policy.handle(Time::from_nanos(1), &wished, &mut |action| {
                panic!("{name}: {action:?}");
            });
        }
    }
}
