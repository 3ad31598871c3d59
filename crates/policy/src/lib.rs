//! Every policy of Fairways, one folder each, and what several of them share.
//!
//! A policy is a [`Policy`]: a state machine from events to actions without I/O, clock, random
//! numbers or floating point. [`by_name`] makes one from the name users know it by.
//!
//! | name | folder | what it does |
//! |---|---|---|
//! | `stock` | [`stock`] | one cluster with every way: no partitioning |
//! | `equal` | [`equal`] | the same number of ways for everybody |
//! | `static` | [`fixed`] | the ways that each program was promised |
//! | `ucp` | [`ucp`] | the fewest misses (Qureshi and Patt's lookahead on MPKI) |
//! | `ucp-slowdown` | [`ucp`] | the same on slowdown tables (LFOC §2.3.1) |
//! | `yu-petrov` | [`ucp`] | the same on memory bandwidth (Yu and Petrov) |
//! | `dcat` | [`dcat`] | the ways that each was promised, and spare ones to whom they help |
//! | `locpart` | [`locpart`] | a tail latency for services, and what they can do without for batch programs |
//! | `dunn` | [`dunn`] | programs clustered by their stalls, in partitions that overlap |
//! | `kpart` | [`kpart`] | programs that harm each other least in one cluster |
//! | `lfoc` | [`lfoc`] | LFOC: streaming programs confined, sensitive ones isolated |
//! | `lfoc-plus` | [`lfoc`] | LFOC+: the same, sensitive ones in pairs where that is fairer |
//! | `casc` | [`casc`] | threads that miss much on few CPUs, never all at once; no partitioning |
//! | `cache-fair` | [`cache_fair`] | CPU time for those that the shared cache slows down; no partitioning |
//!
//! What each finds out of programs on the way to a plan, it tells before that: [`words`].
//!
//! Whatever the machine and the mix (more programs than ways, fewer classes of service than
//! clusters, one program, none), the plan is one that [`fairways_core::Partition::check`] accepts.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;

pub mod cache_fair;
pub mod casc;
pub mod dcat;
pub mod dunn;
pub mod equal;
pub mod fixed;
pub mod kpart;
pub mod lfoc;
pub mod locpart;
pub mod regression;
pub mod stock;
pub mod ucp;
pub mod words;

mod layout;
mod linear;
mod lookahead;
mod occupancy;
mod running;
mod sharing;
mod slowdown;
mod split;
mod telling;
mod wide;

use alloc::boxed::Box;

use fairways_core::Policy;

pub use linear::{least_change, solve};
pub use occupancy::{Occupancy, interpolate, sweep_step};
pub use slowdown::{Reference, slowdown_table};

/// The names of all policies, in the order in which tables show them.
pub const NAMES: [&str; 14] = [
    "stock",
    "equal",
    "static",
    "ucp",
    "ucp-slowdown",
    "yu-petrov",
    "dcat",
    "locpart",
    "dunn",
    "kpart",
    "lfoc",
    "lfoc-plus",
    "casc",
    "cache-fair",
];

/// The policy with this name and its published parameters; `None` if there is none.
#[must_use]
pub fn by_name(name: &str) -> Option<Box<dyn Policy>> {
    Some(match name {
        "stock" => Box::new(stock::Stock::default()),
        "equal" => Box::new(equal::Equal::default()),
        "static" => Box::new(fixed::Static::default()),
        "ucp" => Box::new(ucp::Ucp::new(ucp::Minimise::Misses)),
        "ucp-slowdown" => Box::new(ucp::Ucp::new(ucp::Minimise::Slowdown)),
        "yu-petrov" => Box::new(ucp::Ucp::new(ucp::Minimise::Bandwidth)),
        "dcat" => Box::new(dcat::Dcat::new(dcat::Parameters::default())),
        "locpart" => Box::new(locpart::Locpart::new(locpart::Parameters::default())),
        "dunn" => Box::new(dunn::Dunn::new(dunn::Parameters::default())),
        "kpart" => Box::new(kpart::KPart::new(kpart::Parameters::default())),
        "lfoc" => Box::new(lfoc::Lfoc::new(lfoc::Parameters::default())),
        "lfoc-plus" => Box::new(lfoc::Lfoc::new(lfoc::Parameters::plus())),
        "casc" => Box::new(casc::Casc::new(casc::Parameters::default())),
        "cache-fair" => Box::new(cache_fair::CacheFair::new(cache_fair::Parameters::default())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_the_policy_of_that_name() {
        for name in NAMES {
            assert_eq!(by_name(name).unwrap().name(), name);
        }
        assert!(by_name("nonesuch").is_none());
    }

    /// What is asked of a program is nothing to those who do not heed it.
    #[test]
    fn an_objective_changes_no_plan_but_locpart_s() {
        use fairways_core::{AppId, Event, Llc, Objective, Q32, Time, Ways, Wish};
        for name in NAMES.into_iter().filter(|name| *name != "locpart") {
            let mut policy = by_name(name).unwrap();
            let llc = Llc::with_ways(Ways::new(8).unwrap());
            let started =
                |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
            for event in [Event::Machine(llc), started(0), started(1)] {
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
