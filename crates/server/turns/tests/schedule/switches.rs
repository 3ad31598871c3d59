//! Which thread runs on which CPU, as the kernel reports it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairways_core::CpuSet;
use fairways_perf::events::{Cpu, ProcessorEvents, Vendor, for_cpu};
use fairways_perf::switches::{Stay, Switches};
use fairways_testing::needs::{Need, has, stolen, stolen_since, withheld};

use crate::common::{Crew, own, ran, settings, spin};

/// This processor's events.
pub(crate) fn events() -> ProcessorEvents {
    let devices = "/sys/bus/event_source/devices".as_ref();
    let unknown = |_| Cpu { vendor: Vendor::Other(String::new()), hybrid: false };
    for_cpu(&Cpu::read("/proc/cpuinfo".as_ref(), devices).unwrap_or_else(unknown))
}

/// The switches of this process's CPUs; `None` if the test is skipped.
pub(crate) fn watch(test: &str) -> Option<Switches> {
    if !has(test, &[Need::Root]) {
        return None;
    }
    let cpus: CpuSet = own().into_iter().collect();
    match Switches::open(&cpus, &events()) {
        Ok(switches) => Some(switches),
        // A container's seccomp profile, or a kernel without perf events.
        Err(error) => {
            withheld(test, &error.to_string());
            None
        }
    }
}

#[test]
fn the_time_that_threads_had_is_reported_to_the_switch() {
    let test = "the_time_that_threads_had_is_reported_to_the_switch";
    let _alone = settings();
    let Some(mut switches) = watch(test) else { return };
    let crew = Crew::start(6, |number| match number % 3 {
        0 => spin(Duration::from_millis(30)),
        1 => std::thread::sleep(Duration::from_micros(700)),
        _ => {
            spin(Duration::from_micros(200));
            std::thread::yield_now();
        }
    });
    let mut stays = Vec::new();
    // Nothing before the first switch of each CPU is known.
    std::thread::sleep(Duration::from_millis(300));
    switches.read(&mut stays).unwrap();
    stays.clear();
    let lost = stolen();
    let before: Vec<u64> = crew.ids.iter().map(|&id| ran(id)).collect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
        switches.read(&mut stays).unwrap();
    }
    let after: Vec<u64> = crew.ids.iter().map(|&id| ran(id)).collect();
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap();
    let lost = u64::try_from(stolen_since(lost).as_nanos()).unwrap();

    // Each CPU's stays follow one another and fill the time, except for some stays of threads that
    // have ended, and what the kernel does not report.
    let mut by_cpu: BTreeMap<u32, Vec<&Stay>> = BTreeMap::new();
    stays.iter().for_each(|stay| by_cpu.entry(stay.cpu).or_default().push(stay));
    assert_eq!(by_cpu.keys().copied().collect::<Vec<_>>(), own());
    let mut missing = 0;
    for (cpu, stays) in &by_cpu {
        assert!(stays.windows(2).all(|pair| pair[0].span.1 <= pair[1].span.0));
        let gaps = stays.windows(2).filter(|pair| pair[0].span.1 != pair[1].span.0).count();
        eprintln!("CPU {cpu}: {} stays, {gaps} gaps", stays.len());
        assert!(gaps <= stays.len() / 50, "{gaps} gaps in {} stays on CPU {cpu}", stays.len());
        for pair in
            stays.windows(2).filter(|pair| pair[0].goes_on && pair[0].span.1 == pair[1].span.0)
        {
            assert_eq!(pair[0].thread, pair[1].thread);
        }
        let length: u64 = stays.iter().map(|stay| stay.span.1 - stay.span.0).sum();
        assert!(length.abs_diff(took) < took / 4, "CPU {cpu}: {length} of {took} ns");
        missing += stays.windows(2).map(|pair| pair[1].span.0 - pair[0].span.1).sum::<u64>();
        let known: Vec<_> = stays.iter().map(|stay| stay.counters.cycles.is_some()).collect();
        let counts = switches.counted().any(|field| field.name() == "cycles");
        assert!(
            known.iter().all(|&known| known == counts),
            "counted where there is a PMU, and else missing"
        );
    }
    // Each thread's stays add up to its time by the scheduler's own account. Allowed are a tick and
    // a look, since the two are not read at one instant, the missing time, and what a host took.
    for (index, &id) in crew.ids.iter().enumerate() {
        let reported: u64 =
            stays.iter().filter(|s| s.thread == id).map(|s| s.span.1 - s.span.0).sum();
        let had = after[index] - before[index];
        let slack = 60_000_000 + had / 20 + missing;
        let holds = reported < had + slack + lost && had < reported + slack;
        assert!(holds, "thread {index}: reported {reported}, had {had} ns, {lost} ns taken");
    }
    let long = stays.iter().filter(|stay| stay.goes_on).count();
    let count = stays.len();
    eprintln!("{count} stays in {took} ns, {long} of them cut while they lasted");
    assert!(count > 1000);
}
