//! Hall's condition against trying every set of CPUs, and every way of spreading threads.

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::Q32;
use proptest::prelude::*;

use crate::casc::matching::keeps_busy;

/// The most threads that find a place, `places` on each CPU: by augmenting paths.
fn most_placed(max_pcmrs: &[Q32], pcmrs: &[Q32], places: usize) -> usize {
    fn place(
        thread: usize,
        free: &[Vec<usize>],
        seen: &mut [bool],
        held: &mut [Option<usize>],
    ) -> bool {
        for &at in &free[thread] {
            if !core::mem::replace(&mut seen[at], true)
                && held[at].is_none_or(|other| place(other, free, seen, held))
            {
                held[at] = Some(thread);
                return true;
            }
        }
        false
    }
    let places: Vec<Q32> = max_pcmrs.iter().flat_map(|&max| vec![max; places]).collect();
    let free: Vec<Vec<usize>> = pcmrs
        .iter()
        .map(|&pcmr| (0..places.len()).filter(|&at| pcmr <= places[at]).collect())
        .collect();
    let mut held = vec![None; places.len()];
    let placed = (0..pcmrs.len())
        .filter(|&thread| place(thread, &free, &mut vec![false; places.len()], &mut held));
    placed.count()
}

fn rates(most: usize) -> impl Strategy<Value = Vec<Q32>> {
    let rate = prop_oneof![0u32..6, 0u32..=100].prop_map(Q32::from_int);
    prop::collection::vec(rate, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 2000, ..ProptestConfig::default()
    })]

    #[test]
    fn as_many_find_a_place_as_without_restrictions(
        max_pcmrs in rates(7), pcmrs in rates(16), m in 0u32..4,
    ) {
        let unrestricted = |places: usize| pcmrs.len().min(places * max_pcmrs.len());
        let all = (0..=m as usize)
            .all(|places| most_placed(&max_pcmrs, &pcmrs, places) == unrestricted(places));
        prop_assert_eq!(keeps_busy(&max_pcmrs, &pcmrs, m), all);
    }

    /// The condition as the decision has it, set by set, where there are enough threads.
    #[test]
    fn every_set_of_cpus_has_enough(max_pcmrs in rates(7), pcmrs in rates(16), m in 0usize..4) {
        prop_assume!(pcmrs.len() >= m * max_pcmrs.len());
        let enough = |set: u32| {
            let cpus = (0..max_pcmrs.len()).filter(|cpu| set & (1 << cpu) != 0);
            let most = cpus.map(|cpu| max_pcmrs[cpu]).max();
            let threads = pcmrs.iter().filter(|&&pcmr| Some(pcmr) <= most).count();
            threads >= m * set.count_ones() as usize
        };
        let all = (0u32..1 << max_pcmrs.len()).all(enough);
        prop_assert_eq!(keeps_busy(&max_pcmrs, &pcmrs, u32::try_from(m).unwrap()), all);
    }
}
