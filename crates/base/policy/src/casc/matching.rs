//! Whether the threads' CPU preferences leave CPUs idle (§4.3.1; decision CASC 6).

use fairways_core::Q32;

/// Whether each CPU can run `m` threads at all times, "provided there are enough threads in the
/// system". A thread may run on the CPUs whose `MAX_PCMR` is at least its PCMR (decision CASC 3).
/// If there are fewer than `m` threads for each CPU, they can be spread as evenly as if every
/// thread were allowed everywhere: for any number of places on each CPU up to `m`, as many threads
/// find one.
///
/// With p places on each CPU, Hall's theorem (in Ore's form if the threads are too few) applies:
/// all places are filled if no set S of CPUs has fewer than p |S| threads that may run on one of
/// them, not counting the places that stay empty anyway. The sets of CPUs that threads may use are
/// nested: all CPUs from some `MAX_PCMR` up. So the threads that may run on one of S are those that
/// may run on its CPU with the largest `MAX_PCMR`, and S needs most threads if it contains every
/// CPU below that, too. It is enough, then, to look at the k CPUs with the least `MAX_PCMR`, for
/// each k. Of T threads on n CPUs these need min(p k, T - p (n - k)), which rises with p up to T /
/// n and falls from there on, so that two values of p are enough.
#[must_use]
pub fn keeps_busy(max_pcmrs: &[Q32], pcmrs: &[Q32], m: u32) -> bool {
    let mut levels = max_pcmrs.to_vec();
    levels.sort_unstable();
    let mut threads = pcmrs.to_vec();
    threads.sort_unstable();
    keeps_busy_sorted(&levels, m, threads.len(), |level| {
        threads.partition_point(|&pcmr| pcmr <= level)
    })
}

/// [`keeps_busy`] for `MAX_PCMR`s in ascending order, with the number of all threads, and of those
/// that may run on a CPU with a given `MAX_PCMR`.
pub(super) fn keeps_busy_sorted<T: Copy>(
    levels: &[T],
    m: u32,
    threads: usize,
    below: impl Fn(T) -> usize,
) -> bool {
    let (cpus, threads, m) = (levels.len() as u64, threads as u64, u64::from(m));
    let even = threads.checked_div(cpus).unwrap_or(0);
    [m.min(even), m.min(even + 1)].into_iter().all(|places| {
        let empty = (places * cpus).saturating_sub(threads);
        (1..).zip(levels).all(|(k, &level)| below(level) as u64 + empty >= places * k)
    })
}
