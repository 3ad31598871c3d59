//! The perf part: software events in place of the hardware's, which virtual machines often lack.

use fairways_core::{AppId, Counter, CpuSet};
use fairways_perf::events::{BY_PROCESSOR, Encoding, Event, ProcessorEvents};
use fairways_perf::{Perf, Settings};
use fairways_perf::{Source, Target};

/// `PERF_TYPE_SOFTWARE`.
const SOFTWARE: u32 = 1;

/// Five events in two groups, like an Intel processor's. The first is in both, so each thread, or
/// CPU, takes six descriptors.
fn events() -> ProcessorEvents {
    let event = |(field, config)| Event {
        field,
        name: "software",
        encoding: Encoding { kind: SOFTWARE, config },
    };
    let events = [
        (Counter::Instructions, 1),
        (Counter::L1References, 2),
        (Counter::LlcReferences, 3),
        (Counter::LlcMisses, 4),
        (Counter::StallsL2Miss, 5),
    ];
    let mut events: Vec<Event> = events.into_iter().map(event).collect();
    events.sort_by_key(|event| event.field);
    let (alone, lost) = (Vec::new(), Vec::new());
    ProcessorEvents { name: "software", source: "perf_event_open(2)", events, alone, lost }
}

/// Counters of these programs, by threads, or by the cgroup that each is in.
pub(crate) fn start(programs: &[Vec<i32>], cgroups: Option<&[std::path::PathBuf]>) -> Perf {
    let cpus: CpuSet =
        (0..u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap()).collect();
    let mut perf = Perf::new(Settings {
        events: events(),
        counters: BY_PROCESSOR.to_vec(),
        domains: vec![(0, cpus)],
        descriptors: None,
    });
    for (at, threads) in (0_u32..).zip(programs) {
        let cgroup = cgroups.map(|of| of[at as usize].clone());
        perf.begin(&Target {
            app: AppId(at),
            name: "sleeper".to_owned(),
            cgroup,
            threads: threads.clone(),
        });
        assert!(perf.read(AppId(at), 0).instructions.is_some(), "{threads:?} can't be counted");
    }
    perf
}
