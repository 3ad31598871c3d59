//! Levels of memory bandwidth: each one's rounding, what is refused, and the mount that takes them
//! in MB/s.

use std::ops::RangeInclusive;

use fairways_kernel_lab::steps::{Step, parse};
use fairways_kernel_lab::{Bandwidth, Kernel, Monitoring, required};
use fairways_resctrl_rules::platform::{BandwidthAllocation, Event};

use crate::answers::{Case, ask};
use crate::{MANY, amd_s, case};

/// Steps as for an Intel processor's `MB`, with other options and for another resource.
fn known(options: &str, resource: &str) -> Vec<Step> {
    let text = include_str!("../steps/levels");
    let text = text.replace("\nreset\n", &format!("\nreset {options}\n"));
    parse(&text.replace("MB:", &format!("{resource}:")).replace("/MB", &format!("/{resource}")))
        .unwrap()
}

/// Writes each of these values, and reads what it was made.
fn each(options: &str, resource: &str, values: &[RangeInclusive<u32>]) -> Vec<Step> {
    let mut steps = vec![
        Step::Sequence(format!("each_{resource}_{options}")),
        Step::Reset(options.into()),
        Step::Mkdir("g".into()),
    ];
    for value in values.iter().cloned().flatten() {
        let line = format!("{resource}:0={value}\n");
        steps.push(Step::Write("g/schemata".into(), line.into_bytes()));
        steps.push(Step::Read("g/schemata".into()));
    }
    steps
}

/// Newest first; 6.1 has no SMBA.
const KERNELS: [Kernel; 3] = [Kernel::Sid, Kernel::Trixie, Kernel::Bookworm];

/// Asks each of these kernels.
fn on(kernels: &[Kernel], case: &Case, steps: &[Step], sequences: u64) {
    for &kernel in kernels {
        let Some(lab) = required(case.name, kernel) else { return };
        ask(Case { kernel, ..case.clone() }, &lab, steps, sequences);
    }
}

#[test]
fn levels_in_percent() {
    let mut steps = each("", "MB", &[0..=111]);
    for options in ["", "mba_MBps"] {
        steps.extend(known(options, "MB"));
    }
    steps.extend(each("mba_MBps", "MB", &[0..=12, 99..=101]));
    on(&KERNELS, &case("levels_in_percent"), &steps, 8);
}

/// The least level is the step. One of which 100 is no multiple rounds beyond 100.
#[test]
fn levels_of_another_step() {
    let mut case = case("levels_of_another_step");
    case.grounds.processor.bandwidth = Some(Bandwidth { step: 30, ..Bandwidth::default() });
    let mb = case.platform.mb.clone().unwrap();
    case.platform.mb = Some(BandwidthAllocation { min: 30, gran: 30, ..mb });
    on(&KERNELS[..1], &case, &each("", "MB", &[0..=121]), 1);
}

/// AMD's, of all memory and of slow memory, which have other limits here.
#[test]
fn levels_in_eighths_of_a_gigabyte() {
    let edges = [0..=20, 99..=101, 2046..=2050, 4095..=4097];
    let mut case = amd_s("levels_in_eighths");
    let mut steps = each("", "MB", &edges);
    steps.extend(known("", "MB"));
    on(&KERNELS[2..], &case, &steps, 4);
    case.grounds.processor.slow_bandwidth = Some(Bandwidth { closids: 6, step: 0, max_shift: 12 });
    let mb = case.platform.mb.clone().unwrap();
    case.platform.smba = Some(BandwidthAllocation { max: 4096, closids: 6, ..mb });
    steps.extend(each("", "SMBA", &edges));
    steps.extend(known("", "SMBA"));
    on(&KERNELS[..2], &case, &steps, 8);
}

/// Without a counter of memory traffic the mount is refused; which counter is enough differs from
/// kernel to kernel.
#[test]
fn the_mount_in_megabytes_needs_a_counter() {
    let steps = parse(include_str!("../steps/megabytes")).unwrap();
    for (total, kernels) in [(false, &KERNELS[..1]), (true, &KERNELS[..2])] {
        let mut case = case("the_mount_in_megabytes");
        let monitoring = Monitoring { rmids: MANY, total, local: false, ..Monitoring::default() };
        case.grounds.processor.monitoring = Some(monitoring);
        case.platform.monitoring.as_mut().unwrap().events.retain(|event| match event {
            Event::LlcOccupancy => true,
            Event::MbmTotalBytes => total,
            Event::MbmLocalBytes => false,
        });
        on(kernels, &case, &steps, 2);
    }
}
