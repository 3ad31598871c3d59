//! Processes, threads and forks; two domains, one of which goes and returns.

use std::collections::BTreeSet;

use crate::guest::Story;

#[test]
fn programs_are_managed_and_all_is_put_back() {
    let Some(story) = Story::of("on_linux manages", include_str!("manages.sh")) else { return };
    assert_eq!(story.lines("ended "), ["0", "130", "0"], "SIGTERM, SIGINT, SIGTERM");

    // Ten of twelve ways, because devices fill two: for three programs in the first domain, and for
    // two in the other.
    let equal = story.picture("equal");
    equal.agrees(5, &["L3"]);
    assert!(equal.programs["many"].len() > 1, "threads");
    let ways = |program: &str, domain: u32| equal.group(program).masks("L3")[&domain].count_ones();
    let of = |domain: u32| ["alpha", "beta", "many", "gamma"].map(|of| ways(of, domain));
    assert_eq!(of(0), [4, 3, 3, 10], "gamma may not run there");
    assert_eq!(of(1), [5, 10, 10, 5], "only alpha and gamma may run there");

    let promised = story.picture("static");
    promised.agrees(4, &["L3"]);
    let ways = |of: &str, domain: u32| promised.group(of).masks("L3")[&domain].count_ones();
    assert_eq!([ways("alpha", 0), ways("beta", 0)], [3, 5]);
    assert_eq!([ways("alpha", 1), ways("gamma", 1)], [3, 4]);

    // While the second domain is away, nothing is reported for it; then it has its former masks.
    let offline = story.picture("offline");
    assert!(offline.ours().all(|(_, of)| of.masks("L3").keys().eq([&0])));
    assert_eq!(offline.group("alpha").masks("L3")[&0].count_ones(), 3);
    let online = story.picture("online");
    online.agrees(4, &["L3"]);
    let ways = |of: &str, domain: u32| online.group(of).masks("L3")[&domain].count_ones();
    assert_eq!([ways("alpha", 1), ways("gamma", 1)], [3, 4]);

    let forks: Vec<_> = story.lines("fork ").iter().filter_map(|of| of.split_once(' ')).collect();
    let processes: BTreeSet<&str> = forks.iter().map(|&(process, _)| process).collect();
    assert!(processes.len() > 4, "{} processes were seen", processes.len());
    assert!(forks.iter().all(|(_, group)| group.starts_with("res:fairways.")), "{forks:?}");

    let before = story.picture("before");
    for name in ["after_term", "after_int", "after_forks"] {
        assert_eq!(story.picture(name).groups, before.groups, "{name}");
    }
}
