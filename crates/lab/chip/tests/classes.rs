//! Classes of service from outside, lines counted by mark, and programs that are ended.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::preset::parse;
use fairways_chip::program::{Accesses, Pattern, SimulatedProgram};
use fairways_chip::{AfterRun, Chip, FillClass, Job, Phase, Settings};
use fairways_core::{Event, Machine, Time, WayMask};

const MB: u32 = (1 << 20) / 64;

fn job(pattern: Pattern) -> Job {
    let program = SimulatedProgram::new(Accesses::Pattern(pattern), 0.5, 1.0);
    let phase = Phase { program: Some(Arc::new(program)), length: None };
    Job { phases: vec![phase], then: AfterRun::Restart, ..Job::default() }
}

fn chip(jobs: Vec<Job>) -> Chip {
    let geometry = parse("xeon-d:cores=2:sets=1024").unwrap();
    Chip::new(Settings::new(geometry), jobs).unwrap()
}

/// Lets `ms` milliseconds pass; returns the programs that exited.
fn run(chip: &mut Chip, until: u64) -> usize {
    chip.stop_at(Time::ZERO.after(Duration::from_millis(until)));
    let mut exits = 0;
    while let Some((_, event)) = chip.next_event() {
        exits += usize::from(matches!(event, Event::Exited { .. }));
    }
    exits
}

fn class(first: u32, ways: u32, mark: u16) -> Vec<FillClass> {
    vec![FillClass { mask: WayMask::span(first, ways), mark, limit: None }; 2]
}

const WAY: u64 = 1024 * 64;

#[test]
fn lines_are_counted_as_what_brought_them_in_until_they_are_evicted() {
    let mut chip = chip(vec![job(Pattern::Random { lines: 4 * MB })]);
    assert_eq!(chip.marked_bytes(0), 0);
    chip.set_classes(0, class(0, 4, 3));
    run(&mut chip, 40);
    assert_eq!((chip.marked_bytes(3), chip.marked_bytes(0)), (4 * WAY, 0));
    // It moves on: its lines stay, under the other mark.
    chip.set_classes(0, class(6, 2, 5));
    run(&mut chip, 41);
    let held = (chip.marked_bytes(3), chip.marked_bytes(5));
    assert!(held.0 == 4 * WAY && held.1 > 0, "{held:?}");
    run(&mut chip, 80);
    assert_eq!((chip.marked_bytes(3), chip.marked_bytes(5)), (4 * WAY, 2 * WAY));
    // Into the first ways again: lines are counted under the new mark, and under the old one no
    // longer.
    chip.set_classes(0, class(0, 2, 7));
    run(&mut chip, 120);
    let marks = [3, 5, 7].map(|mark| chip.marked_bytes(mark) / WAY);
    assert_eq!(marks, [2, 2, 2]);
    chip.kill(0);
    assert_eq!(run(&mut chip, 121), 1);
    assert_eq!([3, 5, 7].map(|mark| chip.marked_bytes(mark)), [0; 3]);
}

#[test]
fn a_class_is_that_of_the_cpu() {
    let mut chip = chip(vec![job(Pattern::Busy), job(Pattern::Random { lines: 4 * MB })]);
    let classes = [class(0, 1, 1), class(1, 2, 2)].map(|by_cpu| by_cpu[0]);
    chip.set_classes(1, classes.to_vec());
    run(&mut chip, 40);
    assert_eq!(chip.cpu(1), Some(1));
    assert_eq!((chip.marked_bytes(1), chip.marked_bytes(2)), (0, 2 * WAY));
}

#[test]
fn who_is_killed_exits_once_and_does_not_come_back() {
    let pattern = Pattern::Random { lines: MB };
    let late = Job { at: Time::ZERO.after(Duration::from_millis(50)), ..job(pattern) };
    let mut chip = chip(vec![job(pattern), late]);
    run(&mut chip, 10);
    assert!(chip.is_running(0) && !chip.is_running(1));
    chip.kill(0);
    chip.kill(0);
    chip.kill(1);
    let before = chip.counters(0);
    assert!(before.instructions > Some(1_000_000) && before.cycles > before.llc_misses);
    assert_eq!(run(&mut chip, 100), 1);
    assert!(!chip.is_running(0) && !chip.is_running(1));
    assert_eq!(chip.counters(0), before);
    assert_eq!((chip.completions(0), chip.completions(1)), (&[][..], &[][..]));
}
