//! Algorithm 1 and the decisions on what it leaves open (docs/decisions.md), each by its number.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use fairways_core::{Action, AppId, Curve, Event, Llc, Policy, Profile, Q32, Time, Ways, Wish};

use crate::lfoc::{Lfoc, Parameters};

/// What a program is, in the tests' words.
#[derive(Clone, Copy)]
enum Is {
    Streaming,
    Light,
    /// Slowed down in proportion below this many ways.
    Sensitive(u32),
    Unknown,
}

use Is::{Light, Sensitive, Streaming, Unknown};

const LLC: Llc = Llc { ways: Ways::new(11).unwrap(), min_bits: 1, contiguous: true, clos: 16 };

fn profile(is: Is) -> Option<Arc<Profile>> {
    let curve = |value: &dyn Fn(u32) -> u32| Curve::from_fn(LLC.ways, |w| Q32::from_int(value(w)));
    let (ipc, llcmpkc) = match is {
        Streaming => (curve(&|_| 1), curve(&|_| 20)),
        Light => (curve(&|_| 1), curve(&|_| 0)),
        Sensitive(enough) => (curve(&|w| w.min(enough)), curve(&|w| 100 / w)),
        Unknown => return None,
    };
    let flat = curve(&|_| 0);
    Some(Arc::new(Profile {
        ipc,
        llcmpki: flat,
        llcmpkc,
        bandwidth_mbps: flat,
        stalls_l2_miss: flat,
    }))
}

/// The clusters that LFOC makes of these programs: their ways, and their members in order.
fn clusters_with(parameters: Parameters, llc: Llc, programs: &[Is]) -> Vec<(u32, Vec<u32>)> {
    let mut policy = Lfoc::new(parameters);
    let mut clusters = Vec::new();
    let mut handle = |event: &Event| {
        policy.handle(Time::ZERO, event, &mut |action| {
            let Action::Partition { partition, .. } = action else { return };
            partition.check(&llc, partition.placements().iter().map(|place| place.app)).unwrap();
            clusters.clear();
            for (cluster, mask) in (0..).zip(partition.masks()) {
                let mut members: Vec<u32> = partition.members(cluster).map(|app| app.0).collect();
                members.sort_unstable();
                clusters.push((mask.count(), members));
            }
        });
    };
    handle(&Event::Machine(llc.into()));
    for (app, &is) in (0..).map(AppId).zip(programs) {
        handle(&Event::Started { app, wish: Wish::default(), profile: profile(is) });
    }
    clusters
}

fn clusters(programs: &[Is]) -> Vec<(u32, Vec<u32>)> {
    clusters_with(Parameters::default(), LLC, programs)
}

/// `count` streaming programs, then one sensitive one, then the others.
fn beside(count: usize, others: &[Is]) -> Vec<Is> {
    let mut programs = vec![Streaming; count];
    programs.push(Sensitive(11));
    programs.extend(others);
    programs
}

#[test]
fn without_a_sensitive_program_there_is_one_cluster() {
    assert_eq!(clusters(&[Streaming, Light, Unknown]), [(11, vec![0, 1, 2])]);
}

#[test]
fn lookahead_sizes_the_sensitive_ones() {
    // 11 and 3 ways are enough. A second way halves both slowdowns, from 11 and from 3; then the
    // first gains more a way than the second until it owns eight.
    assert_eq!(clusters(&[Sensitive(11), Sensitive(3)]), [(8, vec![0]), (3, vec![1])]);
}

#[test]
fn lights_are_dealt_out_in_turn_where_none_streams() {
    let programs = [Sensitive(11), Light, Light, Sensitive(3), Light];
    assert_eq!(clusters(&programs), [(8, vec![0, 1, 4]), (3, vec![2, 3])]);
}

#[test]
fn decision_3_ways_for_streaming_are_rounded_up_and_two_at_most() {
    for (count, ways) in [(0, 0), (1, 1), (5, 1), (6, 2), (10, 2), (30, 2)] {
        let clusters = clusters(&beside(count, &[]));
        let (sensitive, streaming) = clusters.split_last().unwrap();
        assert_eq!(streaming.iter().map(|cluster| cluster.0).sum::<u32>(), ways, "{count}");
        assert_eq!(sensitive.0, 11 - ways);
    }
}

#[test]
fn decision_4_each_way_of_the_streaming_programs_is_a_cluster() {
    let seven = clusters(&beside(7, &[]));
    assert_eq!(seven, [(1, vec![0, 1, 2, 3]), (1, vec![4, 5, 6]), (9, vec![7])]);
    // With three classes of service for two sensitive programs they share one, of both ways.
    let llc = Llc { clos: 3, ..LLC };
    let short = clusters_with(Parameters::default(), llc, &beside(6, &[Sensitive(3)]));
    assert_eq!(short.len(), 3);
    assert_eq!(short[0], (2, vec![0, 1, 2, 3, 4, 5]));
    // Where ways are short, not classes, sharing would leave the sensitive ones no more.
    let crowded = clusters(&beside(6, &[Sensitive(11); 9]));
    assert_eq!(crowded[..2], [(1, vec![0, 1, 2]), (1, vec![3, 4, 5])]);
    assert_eq!(crowded.len(), 11);
}

#[test]
fn where_masks_are_wide_streaming_programs_still_have_two_ways_at_most() {
    let streaming = |min_bits| {
        let llc = Llc { min_bits, ..LLC };
        clusters_with(Parameters::default(), llc, &beside(6, &[Sensitive(3)]))[0].clone()
    };
    let all = vec![0, 1, 2, 3, 4, 5];
    assert_eq!(streaming(2), (2, all.clone()));
    // Or as many as one cluster must have.
    assert_eq!(streaming(3), (3, all));
}

#[test]
fn decision_5_three_lights_take_the_room_of_a_streaming_program() {
    let four = beside(4, &[Light; 5]);
    assert_eq!(clusters(&four), [(1, vec![0, 1, 2, 3, 5, 6, 7]), (10, vec![4, 8, 9])]);
    // As printed there is never room, however many or few stream.
    let printed = Parameters { gaps_per_streaming: 0, ..Parameters::default() };
    assert_eq!(
        clusters_with(printed, LLC, &four),
        [(1, vec![0, 1, 2, 3]), (10, (4..10).collect())]
    );
}

#[test]
fn decision_6_the_second_streaming_cluster_takes_lights_after_the_first() {
    // Three in each: six gaps in each.
    let clusters = clusters(&beside(6, &[Light; 14]));
    let expected = [
        (1, vec![0, 1, 2, 7, 8, 9, 10, 11, 12]),
        (1, vec![3, 4, 5, 13, 14, 15, 16, 17, 18]),
        (9, vec![6, 19, 20]),
    ];
    assert_eq!(clusters, expected);
}

#[test]
fn a_pooled_cluster_has_room_for_each_of_its_ways() {
    let llc = Llc { clos: 3, ..LLC };
    let mut programs = beside(6, &[Sensitive(3)]);
    programs.extend([Light; 14]);
    let clusters = clusters_with(Parameters::default(), llc, &programs);
    // Two ways take ten streaming programs; for the four that are missing, twelve lights.
    assert_eq!(clusters[0], (2, (0..6).chain(8..20).collect()));
}

#[test]
fn decision_7_the_flattest_of_too_many_sensitive_programs_share() {
    let programs = [Sensitive(4), Sensitive(11), Sensitive(3), Sensitive(9), Sensitive(5)];
    let llc = Llc { clos: 3, ..LLC };
    let clusters = clusters_with(Parameters::default(), llc, &programs);
    let members: Vec<_> = clusters.iter().map(|cluster| cluster.1.clone()).collect();
    assert_eq!(members, [vec![1], vec![3], vec![0, 2, 4]]);
    assert_eq!(clusters.iter().map(|cluster| cluster.0).sum::<u32>(), 11);
}

#[test]
fn decision_8_an_unknown_program_joins_the_largest_cluster_that_does_not_stream() {
    let programs = [Streaming, Unknown, Sensitive(3), Sensitive(11), Unknown];
    assert_eq!(clusters(&programs), [(1, vec![0]), (3, vec![2]), (7, vec![1, 3, 4])]);
}

#[test]
fn other_parameters_leave_no_cluster_empty() {
    let parameters =
        Parameters { max_streaming_way: 1, max_ways_streaming: 3, ..Parameters::default() };
    let clusters = clusters_with(parameters, LLC, &beside(4, &[]));
    assert_eq!(clusters, [(1, vec![0, 1]), (2, vec![2, 3]), (8, vec![4])]);
}
