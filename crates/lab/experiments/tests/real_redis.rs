//! dCat's Table 4 with a real redis-server, on a chip of a quarter of the size. It needs qemu-user,
//! redis-server and redis-tools; without them it reports so and checks nothing, unless
//! `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

use fairways_chip::{Settings, preset};
use fairways_experiments::ProgramStep;
use fairways_experiments::redis::{Table4, speed};
use fairways_policy::by_name;
use fairways_testing::needs::Need;
use fairways_tracer::QEMU;

/// A quarter of the caches, with a quarter of the data. The third way brings 14 to 18 %, the fourth
/// 1 to 3 %, while dCat requires 5: the server's work varies from run to run, and with more records
/// (such as 5000) a way brings about 5 %.
const CHIP: &str = "xeon-e5:sets=9216:l2=64/8";
const TIME_SCALE: u32 = 50;

#[test]
fn redis_keeps_its_baseline_and_more_and_ends_with_the_same_ways() {
    let needed = [QEMU, "redis-server", "redis-cli", "redis-benchmark"].map(Need::Program);
    if !fairways_testing::needs::has("dCat's Table 4", &needed) {
        return;
    }
    let chip = preset::parse(CHIP).unwrap();
    let settings = Settings { time_scale: TIME_SCALE, ..Settings::new(chip) };
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let table = Table4 {
        records: 2000,
        clients: 50,
        pipeline: 16,
        stream: "mload:15M".to_owned(),
        baseline: 2,
        ..Table4::published(port)
    };
    let folder = tempfile::tempdir().unwrap();
    table.fill(folder.path()).unwrap();
    let run = |policy: &str, rounds| -> Vec<Vec<ProgramStep>> {
        table.run(folder.path(), settings, by_name(policy).unwrap().as_mut(), rounds).unwrap()
    };
    fn ends(all: &[Vec<ProgramStep>]) -> Vec<u32> {
        all.iter().map(|moments| moments.last().unwrap().ways).collect()
    }
    let [stock, fixed] = ["stock", "static"].map(|policy| speed(&settings, &run(policy, 8)[0], 4));
    let (first, second) = (run("dcat", 20), run("dcat", 20));
    let [once, again] = [&first, &second].map(|all| speed(&settings, &all[0], 4));
    println!("speed: stock {stock:.3}, static {fixed:.3}, dcat {once:.3} and {again:.3}");
    println!("ways of redis, by round: {:?}", first[0].iter().map(|m| m.ways).collect::<Vec<_>>());
    // A stream beside it costs the server more than its baseline would have saved; dCat gives it
    // more than the baseline.
    assert!(fixed > 1.05 * stock, "{fixed} {stock}");
    for speed in [once, again] {
        assert!(speed > 1.03 * fixed, "{speed} {fixed}");
    }
    assert!(ends(&first)[0] > table.baseline, "{:?}", ends(&first));
    assert_eq!(ends(&first), ends(&second));
}
