//! The lab itself: its input, its output, and that nothing stays behind.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use fairways_kernel_lab::{Counters, Error, Guest, Kernel, Processor, required};

#[test]
fn a_job_prints_returns_its_code_and_gives_files_out() {
    let Some(lab) = required("a_job_prints", Kernel::Sid) else { return };
    let job = "cat /in; seq 1 1000 > /tmp/out; exit 7";
    let guest = Guest::new().text("/in", "one\ntwo\n").job(job).take("/tmp/out").take("/none");
    let outcome = guest.run(&lab).unwrap();
    assert_eq!(outcome.console, ["one", "two"]);
    assert_eq!(outcome.code, 7);
    let numbers: String = (1..=1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(outcome.file("/tmp/out"), Some(numbers.as_bytes()));
    assert_eq!(outcome.file("/none"), None);
}

#[test]
fn the_kernel_programs_masks_and_delays_and_reads_counters() {
    let Some(lab) = required("the_kernel_programs", Kernel::Sid) else { return };
    let processor =
        Processor { counters: Counters::Growing, registers: true, ..Processor::default() };
    let job = "
        mount -t resctrl resctrl /sys/fs/resctrl && cd /sys/fs/resctrl && mkdir g || exit 1
        echo 'L3:1=3c' > g/schemata && echo 'MB:0=30' > g/schemata || exit 2
        cat g/mon_data/mon_L3_00/llc_occupancy
        cat g/mon_data/mon_L3_00/mbm_total_bytes g/mon_data/mon_L3_00/mbm_total_bytes
    ";
    let outcome = Guest::new().processor(processor).job(job).run(&lab).unwrap();
    assert_eq!(outcome.code, 0, "{:?}", outcome.console);
    // The first class after the default one; CPUs 2 and 3 are domain 1. A delay is the rest of 100
    // %.
    let masks: Vec<_> = outcome.registers.iter().filter(|w| w.mask && w.value == 0x3c).collect();
    assert!(masks.iter().all(|w| w.number == 0xc91 && w.cpu >= 2) && !masks.is_empty());
    let delays: Vec<_> = outcome.registers.iter().filter(|w| !w.mask && w.value == 70).collect();
    assert!(delays.iter().all(|w| w.number == 0xd51 && w.cpu < 2) && !delays.is_empty());
    let read: Vec<u64> = outcome.console.iter().map(|line| line.parse().unwrap()).collect();
    // 10 units and the RMID, of 64 KiB; traffic grows from one reading to the next.
    assert!(matches!(read[..], [held, first, second] if held > 10 << 16 && second > first));
}

#[test]
fn a_guest_that_hangs_is_ended_in_time() {
    let Some(lab) = required("a_guest_that_hangs", Kernel::Sid) else { return };
    let since = Instant::now();
    let error = Guest::new().job("sleep 1000").seconds(12).run(&lab).unwrap_err();
    assert!(matches!(error, Error::Timeout { seconds: 12, .. }), "{error}");
    // On a busy machine it may not come up, and is then booted three times.
    assert!(since.elapsed() < Duration::from_secs(3 * 20));
}

#[test]
fn a_panic_of_the_kernel_is_reported() {
    let Some(lab) = required("a_panic", Kernel::Sid) else { return };
    let error = Guest::new().job("echo c > /proc/sysrq-trigger; sleep 100").run(&lab).unwrap_err();
    assert!(error.to_string().contains("Kernel panic"), "{error}");
}
