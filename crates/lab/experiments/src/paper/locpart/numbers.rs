//! The numbers in the text: parameters, the machine, and an example.

use std::time::Duration;

use fairways_chip::preset;
use fairways_core::{Action, AppId, Event, Llc, Policy, Time, Ways, Wish, run};
use fairways_policy::fixed::Static;
use fairways_policy::locpart::{Locpart, Parameters};

use super::baseline::Baseline;
use super::claims;
use super::setup::{INTERVAL, objective};
use crate::StaticMachine;
use crate::paper::Findings;

pub(super) fn findings(silo: &Baseline, findings: &mut Findings) {
    let p = Parameters::default();
    fn ms(span: Duration) -> f64 {
        1e3 * span.as_secs_f64()
    }
    findings.add(claims::STEP, f64::from(p.w));
    findings.add(claims::UTIL_TH, p.util_th.raw() as f64 / (1_u64 << 32) as f64);
    findings.add(claims::DEFAULT_INTERVAL, ms(p.t_sched));
    findings.add(claims::INTERVAL, ms(INTERVAL));
    findings.add_text(claims::INITIAL_SPLIT, initial_split());
    let slo = ms(silo.slo());
    findings.add(claims::SILO_SLO, slo);
    let chip = preset::preset("xeon-e5-2630").expect("a preset's name");
    let mb = (chip.way_bytes() * u64::from(chip.llc.ways.get())) >> 20;
    findings.add_text(claims::LLC, format!("{} / {mb}", chip.llc.ways));
    let cores = format!("{} / {}", chip.cores, f64::from(chip.mhz) / 1e3);
    findings.add_text(claims::CORES, cores);
    findings
        .add_if(claims::L2, chip.l2.map(|shape| f64::from(shape.sets * shape.ways * 64 / 1024)));
    let [first, .., last] = example();
    findings.add_text(claims::EXAMPLE_CLOS, format!("{first} / {last}"));
}

/// The ways of four programs that share 20 as in Figure 2.
fn example() -> [u32; 4] {
    let llc = Llc::with_ways(Ways::new(20).expect("20 ways"));
    let mut machine = StaticMachine::new(
        llc,
        [8, 4, 4, 4].map(|ways| (None, Wish { baseline_ways: Some(ways), ..Wish::default() })),
    );
    run(&mut machine, &mut Static::default(), &mut []);
    let mask = |app| machine.partition()?.0.mask_of(AppId(app));
    [0, 1, 2, 3].map(|app| mask(app).map_or(0, |mask| mask.count()))
}

/// The initial division of the cache between a service and a batch program.
fn initial_split() -> &'static str {
    let llc = Llc::with_ways(Ways::new(20).expect("20 ways"));
    let mut policy = Locpart::new(Parameters::published());
    let mut ways = [0; 2];
    fn started(app: u32, wish: Wish) -> Event {
        Event::Started { app: AppId(app), wish, profile: None }
    }
    let service = started(0, objective(Duration::from_millis(2)));
    for event in [Event::Machine(llc.into()), service, started(1, Wish::default())] {
        policy.handle(Time::ZERO, &event, &mut |action| {
            if let Action::Partition { partition, .. } = action {
                let of = |app| partition.mask_of(AppId(app)).map_or(0, |mask| mask.count());
                ways = [of(0), of(1)];
            }
        });
    }
    if ways == [10, 10] { "equal" } else { "unequal" }
}
