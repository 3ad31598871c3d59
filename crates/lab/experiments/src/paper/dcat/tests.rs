#![allow(clippy::unwrap_used)]

use fairways_policy::dcat::Parameters;

use super::setup::{CacheMode, DcatBench, FinishedRuns, among, tenant};
use super::{Dcat, Setting};

/// A cache without true LRU keeps nothing of a stream either: MLOAD is recognised as streaming at
/// three times its baseline (§3.4, Figure 13).
#[test]
fn mload_streams_whatever_line_makes_room() {
    for replacement in ["lru", "bit-plru", "nru"] {
        let finished = FinishedRuns::default();
        let chip = format!("xeon-e5:replacement={replacement}");
        let mut bench = DcatBench::new(&chip, 80, 1, &finished);
        bench.settings.set_sampling = 4;
        let tenants = among(&[tenant("mload:60M", 3)], 5, 3);
        let run = bench.run(&tenants, CacheMode::Dcat(bench.dcat), 14).unwrap();
        let ways = (run.most_ways(0, 1), run.final_ways(0));
        assert_eq!(ways, (9, 1), "{replacement}");
    }
}

/// Decision dCat 19: the stop that §3.4 prints leaves MLR-8MB with the first number of ways at
/// which it hardly misses; the other goes on while IPC improves (§5.1: 8).
#[test]
fn decision_19_the_two_stops_leave_mlr_with_7_and_8_ways() {
    let finished = FinishedRuns::default();
    let bench =
        Dcat::new(fairways_profiles::embedded(), Setting::new(true)).bench(40, 1, &finished);
    let ways = [true, false].map(|receiver_stops_on_misses| {
        let dcat = Parameters { receiver_stops_on_misses, ..bench.dcat };
        let tenants = among(&[tenant("mlr:8M", 3)], 5, 3);
        bench.run(&tenants, CacheMode::Dcat(dcat), 16).unwrap().final_ways(0)
    });
    assert_eq!(ways, [7, 8]);
}
