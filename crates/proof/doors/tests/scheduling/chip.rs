//! A chip with as many CPUs as this machine, and profiles of what its programs counted.

use std::fs;
use std::path::Path;

use super::daemon::Place;
use super::journal::Story;
use super::profiles::{Row, table};

/// Programs of a chip: two that hardly reuse a line, and enough that do to have one more than there
/// are CPUs. All are measured at once: the score of a program that is measured later depends on its
/// co-runners, because misses of programs that refer to the cache at other rates are no averages.
pub(crate) fn programs(cpus: usize) -> Vec<&'static str> {
    let mut programs = vec!["art-like"; 2];
    programs.resize((cpus + 1).max(2), "berkeley-db-like");
    programs
}

/// Flags for a policy, on the chip and on this machine. On four CPUs, CASC's threshold lies midway
/// between the values (20 and 25.5) at which the set of confined programs changes: a slightly
/// different measurement leads to the same decision. No program is given up before all were seen
/// together, however busy the machine is.
pub(crate) fn settings(policy: &str) -> &'static [&'static str] {
    let casc = &["--set", "threshold=23", "--set", "initial_limit=200s"];
    if policy == "casc" { casc } else { &[] }
}

/// The environment variable that names a folder with journals of such chips by policy, if they
/// exist already: an emulated kernel is too slow to make them.
pub(crate) const MADE: &str = "FAIRWAYS_TEST_CHIPS";

/// What a policy decides on a chip of this number of CPUs.
pub(crate) fn on_chip(place: &Place, policy: &str, cpus: usize) -> Story {
    let journal = std::env::var_os(MADE).map(|made| Path::new(&made).join(policy));
    let journal = journal.unwrap_or_else(|| {
        let journal = place.at("chip");
        simulate(place, policy, cpus, &journal);
        journal
    });
    Story::read(&fs::read_to_string(journal).unwrap())
}

/// Writes the journal of such a chip.
pub(crate) fn simulate(place: &Place, policy: &str, cpus: usize, journal: &Path) {
    let (machine, list) = (format!("chip:t1:cores={cpus}:threads=1"), programs(cpus).join(","));
    let flags = ["--machine", &machine, "--programs", &list, "--policy", policy];
    let journal = journal.to_str().unwrap();
    let how = ["--time-scale", "0.01", "--duration", "6s", "--journal", journal];
    place.printed("run", &[&flags[..], &how, settings(policy)].concat());
}

/// What threads counted on the chip defines their counts here, whatever ways they have: a program
/// has one rate of misses here.
pub(crate) fn profiles(chip: &Story, names: &[String]) -> String {
    let thousandth = |part: u64, all: u64| part as f64 * 1000.0 / all as f64;
    let row = |app: u64| {
        let counted = chip.counted[&app];
        Row {
            ipc: thousandth(counted.instructions, counted.cycles) / 1000.0,
            references: thousandth(counted.references, counted.cycles),
            misses: thousandth(counted.misses, counted.cycles),
            stalls: 0.5,
        }
    };
    table(names.iter().zip(0..).map(|(name, app)| (name.as_str(), vec![row(app); 2])))
}
