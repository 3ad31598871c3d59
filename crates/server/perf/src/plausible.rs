//! Whether counters count what they should: a known loop is counted, and the counts are compared
//! with what it does.
//!
//! An encoding may be wrong for a processor, a hypervisor may emulate an event badly, and another
//! tool may have a counter. Bounds are wide: they are to find counts that are off by far.

use std::hint::black_box;

use fairways_core::{AppId, Counter, Counters};

use super::source::{Source, Target};

/// Rounds of the loop that touches no memory: about 10 ms.
const ROUNDS: u64 = 10_000_000;

/// The bytes that the other loop reads: more than a core's own caches hold.
const BYTES: usize = 16 << 20;

/// Bytes from one read to the next: a cache line.
const LINE: usize = 64;

/// The most instructions of a round of either loop, in a build without optimisation.
const MOST_IN_ROUND: u64 = 256;

/// The most instructions in a cycle, of any processor.
const MOST_IN_CYCLE: u64 = 16;

/// What is counted of the calling thread beside everything else that it does meanwhile, such as
/// interrupts and faults of pages.
const BESIDE: u64 = 100_000;

/// Counts two known loops on the calling thread, and compares. Returns what can't be, a line each;
/// `None` if nothing is counted. It takes some 20 ms.
#[must_use]
pub fn implausible(source: &mut dyn Source) -> Option<Vec<String>> {
    let app = AppId(u32::MAX);
    let threads = vec![rustix::thread::gettid().as_raw_nonzero().get()];
    source.begin(&Target { app, name: "a known loop".to_owned(), cgroup: None, threads });
    let before = source.read(app, 0);
    if before == Counters::default() {
        source.end(app);
        return None;
    }
    compute();
    let computed = source.read(app, 0);
    let mut memory = vec![1_u8; BYTES];
    let filled = source.read(app, 0);
    read_lines(&mut memory);
    let read = source.read(app, 0);
    source.end(app);
    let mut odd = of_computing(&since(&computed, &before));
    odd.extend(of_reading(&since(&read, &filled)));
    Some(odd)
}

fn since(to: &Counters, from: &Counters) -> Counters {
    to.zip_with(from, |to, from| to.zip(from).and_then(|(to, from)| to.checked_sub(from)))
}

/// At least one instruction a round, and no reads but of its own few lines.
fn compute() {
    let mut value = 1_u64;
    for round in 0..ROUNDS {
        value = black_box(value.wrapping_mul(3) ^ round);
    }
}

/// Reads one byte of each line.
fn read_lines(memory: &mut [u8]) {
    let mut sum = 0_u64;
    for byte in black_box(memory).iter().step_by(LINE) {
        sum = sum.wrapping_add(u64::from(*black_box(byte)));
    }
    black_box(sum);
}

/// A bound that a count is outside of.
struct Bound {
    counter: Counter,
    least: u64,
    most: u64,
}

impl Bound {
    fn broken(&self, of: &str, counters: &Counters) -> Option<String> {
        let count = counters.get(self.counter)?;
        let Self { counter, least, most } = self;
        let is_odd = count < *least || count > *most;
        is_odd.then(|| {
            let name = counter.name();
            format!("{name}: {count} of {of}, expected {least} to {most}")
        })
    }
}

fn of_computing(counters: &Counters) -> Vec<String> {
    let of = format!("a loop of {ROUNDS} rounds without memory");
    let most = MOST_IN_ROUND * ROUNDS;
    let bounds = [
        Bound { counter: Counter::Instructions, least: ROUNDS, most },
        Bound { counter: Counter::Cycles, least: ROUNDS / MOST_IN_CYCLE, most },
        Bound { counter: Counter::LlcReferences, least: 0, most: ROUNDS / 10 + BESIDE },
        Bound { counter: Counter::LlcMisses, least: 0, most: ROUNDS / 10 + BESIDE },
    ];
    bounds.iter().filter_map(|bound| bound.broken(&of, counters)).collect()
}

fn of_reading(counters: &Counters) -> Vec<String> {
    let lines = (BYTES / LINE) as u64;
    let of = format!("a loop that reads {lines} lines");
    let cycles = counters.cycles.unwrap_or(u64::MAX).saturating_add(BESIDE);
    let references = counters.llc_references.unwrap_or(u64::MAX).saturating_add(BESIDE);
    let stalls = counters.stalls_l2_miss.unwrap_or(u64::MAX).saturating_add(BESIDE);
    let most = MOST_IN_ROUND * lines + BESIDE;
    let bounds = [
        Bound { counter: Counter::Instructions, least: lines, most },
        Bound { counter: Counter::L1References, least: lines, most },
        // Some lines may be in the core's own caches.
        Bound { counter: Counter::LlcReferences, least: lines / 8, most: 16 * lines + BESIDE },
        Bound { counter: Counter::LlcMisses, least: 0, most: references },
        Bound { counter: Counter::StallsL2Miss, least: 0, most: cycles },
        Bound { counter: Counter::StallsLlcMiss, least: 0, most: stalls.min(cycles) },
        Bound { counter: Counter::StallsStoreBuffer, least: 0, most: cycles },
    ];
    bounds.iter().filter_map(|bound| bound.broken(&of, counters)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A source whose readings are given.
    struct GivenReadings(VecDeque<Counters>);

    impl Source for GivenReadings {
        fn begin(&mut self, _: &Target) {}

        fn threads(&mut self, _: AppId, _: &[i32]) {}

        fn read(&mut self, _: AppId, _: u32) -> Counters {
            self.0.pop_front().unwrap()
        }

        fn end(&mut self, _: AppId) {}
    }

    /// What a server would count of both loops.
    fn loops() -> [Counters; 2] {
        let computed = Counters {
            instructions: Some(4 * ROUNDS),
            cycles: Some(4 * ROUNDS),
            l1_references: Some(100),
            llc_references: Some(2000),
            llc_misses: Some(1000),
            stalls_l2_miss: Some(50_000),
            stalls_llc_miss: Some(40_000),
            stalls_store_buffer: Some(0),
            ..Counters::default()
        };
        let read = Counters {
            instructions: Some(1_500_000),
            cycles: Some(4_000_000),
            l1_references: Some(300_000),
            llc_references: Some(260_000),
            llc_misses: Some(200_000),
            stalls_l2_miss: Some(3_000_000),
            stalls_llc_miss: Some(2_500_000),
            stalls_store_buffer: Some(1000),
            ..Counters::default()
        };
        [computed, read]
    }

    fn of([computed, read]: [Counters; 2]) -> Option<Vec<String>> {
        let sum = computed.zip_with(&read, |one, other| Some(one? + other?));
        let zero = computed.zip_with(&computed, |one, _| one.map(|_| 0));
        implausible(&mut GivenReadings([zero, computed, computed, sum].into()))
    }

    #[test]
    fn a_server_s_counts_are_plausible_also_without_some_counters() {
        assert_eq!(of(loops()), Some(vec![]));
        let lacks =
            |counters: Counters| Counters { stalls_l2_miss: None, cycles: None, ..counters };
        assert_eq!(of(loops().map(lacks)), Some(vec![]));
        assert_eq!(of([Counters::default(); 2]), None, "nothing is counted");
    }

    #[test]
    fn each_count_that_can_t_be_is_named() {
        fn with(change: impl Fn(&mut Counters)) -> String {
            let mut loops = loops();
            loops.iter_mut().for_each(change);
            let odd = of(loops).unwrap();
            assert!(odd.len() <= 3 && odd.iter().all(|line| !line.contains('\n')), "{odd:?}");
            odd.first().cloned().unwrap_or_default()
        }
        // An encoding that counts nothing, or something else.
        assert!(with(|of| of.instructions = Some(0)).starts_with("instructions: 0 of a loop of"));
        assert!(with(|of| of.cycles = Some(1)).starts_with("cycles: 1 of"));
        assert!(
            with(|of| of.l1_references = Some(0)).starts_with("l1_references: 0 of a loop that")
        );
        assert!(with(|of| of.llc_references = of.instructions).starts_with("llc_references: 4"));
        assert!(with(|of| of.llc_references = Some(0)).starts_with("llc_references: 0 of a loop"));
        assert!(with(|of| of.llc_misses = Some(900_000)).starts_with("llc_misses: 900000"));
        assert!(with(|of| of.stalls_l2_miss = Some(u64::MAX / 4)).starts_with("stalls_l2_miss"));
        assert!(with(|of| of.stalls_llc_miss = Some(3_900_000)).starts_with("stalls_llc_miss"));
        assert!(with(|of| of.stalls_store_buffer = Some(9_000_000)).starts_with("stalls_store"));
    }
}
