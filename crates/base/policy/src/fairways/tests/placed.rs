//! Programs on several caches.

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::{Curve, MachineCache, Profile, Q32, Ways, Wish};

use crate::fairways::*;

/// A profile of IPC and LLCMPKC with every number of ways.
fn profile(ipc: &[u32], llcmpkc: &[u32]) -> Profile {
    let [ipc, llcmpkc] = [ipc, llcmpkc]
        .map(|values| Curve::new(values.iter().map(|&value| Q32::from_int(value))).unwrap());
    Profile { ipc, llcmpki: llcmpkc, llcmpkc, bandwidth_mbps: ipc, stalls_l2_miss: ipc }
}

fn streaming() -> Profile {
    profile(&[100; 4], &[30; 4])
}

/// It gains by every way.
fn sensitive() -> Profile {
    profile(&[40, 60, 80, 100], &[12, 9, 6, 3])
}

fn caches(of: &[(u32, u32)]) -> Vec<MachineCache> {
    let caches = of
        .iter()
        .map(|&(ways, cpus)| MachineCache { llc: Llc::with_ways(Ways::new(ways).unwrap()), cpus });
    caches.collect()
}

const fn placed(profile: &Profile) -> PlacedProgram<'_> {
    PlacedProgram { profile, wish: NOTHING, threads: 1, cache: None }
}

const NOTHING: Wish =
    Wish { baseline_ways: None, best_effort: false, objective: None, importance: None };

fn place(caches: &[MachineCache], programs: &[PlacedProgram<'_>]) -> Option<Vec<usize>> {
    Placer::default().place(&Parameters::default(), caches, programs).map(<[usize]>::to_vec)
}

/// The two sensitive programs are on different caches.
#[test]
fn programs_that_need_ways_are_kept_apart() {
    let (sensitive, streaming) = (sensitive(), streaming());
    let programs = [&sensitive, &sensitive, &streaming, &streaming].map(placed);
    let found = place(&caches(&[(4, 3), (4, 3)]), &programs).unwrap();
    assert_ne!(found[0], found[1], "{found:?}");
    // The sensitive program is on the only cache with more than a way.
    let found = place(&caches(&[(1, 3), (4, 3)]), &programs[1..]).unwrap();
    assert_eq!(found, [1, 0, 0]);
}

/// Programs that are placed well stay, whatever the order of the caches.
#[test]
fn a_placement_that_was_found_is_found_again() {
    let (sensitive, streaming) = (sensitive(), streaming());
    let programs = [&streaming, &sensitive, &streaming, &sensitive, &streaming].map(placed);
    let machine = caches(&[(4, 4), (4, 4)]);
    let mut placer = Placer::default();
    let parameters = Parameters::default();
    let first = placer.place(&parameters, &machine, &programs).unwrap().to_vec();
    for there in [first.clone(), first.iter().map(|cache| 1 - cache).collect()] {
        let mut programs = programs;
        for (program, &cache) in programs.iter_mut().zip(&there) {
            program.cache = Some(cache);
        }
        assert_eq!(placer.place(&parameters, &machine, &programs).unwrap(), there);
        assert_eq!(place(&machine, &programs).unwrap(), there);
    }
}

#[test]
fn threads_take_cpus() {
    let (sensitive, streaming) = (sensitive(), streaming());
    let mut programs = [&streaming, &streaming, &sensitive].map(placed);
    programs[0].threads = 4;
    let found = place(&caches(&[(4, 2), (4, 4)]), &programs).unwrap();
    assert_eq!(found, [1, 0, 0]);
    programs[1].threads = 3;
    assert_eq!(place(&caches(&[(4, 2), (4, 4)]), &programs), None);
}

#[test]
fn promised_ways_are_on_caches_that_have_them() {
    let sensitive = sensitive();
    let mut programs = [&sensitive; 4].map(placed);
    for program in &mut programs[..2] {
        program.wish.baseline_ways = Some(3);
    }
    for machine in [[(4, 4), (4, 4)], [(4, 2), (4, 4)]] {
        let found = place(&caches(&machine), &programs).unwrap();
        assert_ne!(found[0], found[1], "{found:?}");
    }
    // Where one promise can be kept, it is that of the first program.
    let found = place(&caches(&[(2, 4), (4, 4)]), &programs).unwrap();
    assert_eq!(found[0], 1, "{found:?}");
    // A promise that no cache can keep does not count: the others are placed as without it.
    programs[0].wish.baseline_ways = Some(9);
    assert!(place(&caches(&[(2, 4), (2, 4)]), &programs).is_some());
}

#[test]
fn what_does_not_fit_is_not_placed() {
    let streaming = streaming();
    let two = caches(&[(4, 1), (4, 1)]);
    for (machine, count) in
        [(two.clone(), 3), (two, 0), (caches(&[(4, 99), (4, 99)]), 65), (Vec::new(), 1)]
    {
        assert_eq!(place(&machine, &vec![placed(&streaming); count]), None);
    }
    assert!(Placer::default().elsewhere(0).is_none());
}
