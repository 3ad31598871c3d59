//! The policy of docs/own-policy.md, compared with no partitioning, on a chip.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../../base/policy/examples/climb/policy.rs"]
mod climb;

use std::time::Duration;

use fairways_chip::program::parse;
use fairways_chip::{Job, Settings, preset};
use fairways_core::Policy;
use fairways_experiments::timeline;
use fairways_policy::by_name;

const PROGRAMS: [&str; 4] = ["mlr:4M:overlap=2", "mload:60M", "mload:60M", "lookbusy"];

/// Instructions per cycle of a random reader, two streams and a program that computes, over the
/// last ten of 30 seconds, and their ways at the end.
fn ends(policy: &mut dyn Policy) -> Vec<(f64, u32)> {
    let settings = Settings { time_scale: 100, ..Settings::new(preset::preset("xeon-d").unwrap()) };
    let jobs = PROGRAMS.map(|text| Job::new(parse(text, |_| None).unwrap().remove(0).0.unwrap()));
    let moments = timeline(settings, &jobs, policy, Duration::from_secs(10), 3).unwrap();
    let last = moments.iter().map(|moments| moments.last().unwrap());
    last.map(|moment| (moment.ipc().unwrap(), moment.ways)).collect()
}

#[test]
fn ways_climb_to_programs_that_gain_and_no_program_is_harmed() {
    let stock = ends(&mut *by_name("stock").unwrap());
    let climb = ends(&mut climb::Climb::default());
    println!("stock {stock:?}\nclimb {climb:?}");
    assert!(climb[0].0 > 1.5 * stock[0].0, "{stock:?} {climb:?}");
    for program in [1, 2, 3] {
        assert!(climb[program].0 > 0.97 * stock[program].0, "{program}: {stock:?} {climb:?}");
    }
    assert!(climb[1..4].iter().all(|(_, ways)| climb[0].1 > *ways), "{climb:?}");
    let page = include_str!("../../../../docs/own-policy.md");
    for (program, (stock, climb)) in PROGRAMS.iter().zip(stock.iter().zip(&climb)) {
        let row = format!("| `{program}` | {:.2} | {:.2} | {} |", stock.0, climb.0, climb.1);
        assert!(page.contains(&row), "docs/own-policy.md has no row {row}");
    }
}
