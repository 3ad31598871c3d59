//! The lab itself: its input, its output, and that nothing stays behind.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use fairways_kernel_lab::{Bandwidth, Counters, Error, Guest, Kernel, Processor, Vendor, required};

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

/// What a kernel showed after each of these levels was written, and what it wrote to this register,
/// that of the first class.
fn shown_and_programmed(
    processor: &Processor,
    resource: &str,
    levels: &str,
    register: u32,
) -> Option<(Vec<u64>, Vec<u64>)> {
    let lab = required("the_kernel_programs_levels", Kernel::Sid)?;
    let job = format!(
        "mount -t resctrl resctrl /sys/fs/resctrl && cd /sys/fs/resctrl && mkdir g || exit 1
        for level in {levels}; do
            echo '{resource}:0='$level > g/schemata || exit 2
            sed -n 's/^ *{resource}:0= *\\([0-9]*\\);.*/\\1/p' g/schemata
        done"
    );
    let outcome = Guest::new().processor(processor.clone()).job(job).run(&lab).unwrap();
    assert_eq!(outcome.code, 0, "{:?}", outcome.console);
    let shown = outcome.console.iter().map(|line| line.parse().unwrap()).collect();
    let writes = outcome.registers.iter().filter(|write| !write.mask && write.number == register);
    Some((shown, writes.map(|write| write.value).collect()))
}

/// The register has the level that `schemata` shows after rounding: on Intel the rest of 100 %, on
/// AMD itself, where slow memory has registers of its own.
#[test]
fn the_kernel_programs_the_levels_that_it_shows() {
    let intel = Processor { registers: true, ..Processor::default() };
    let slow_bandwidth = Some(Bandwidth { max_shift: 12, ..Bandwidth::default() });
    let amd = Processor { vendor: Vendor::Amd, slow_bandwidth, ..intel.clone() };
    for (processor, resource, levels, register, expected) in [
        (&intel, "MB", "10 11 29 50 91 100", 0xd51, [10, 20, 30, 50, 100, 100]),
        (&amd, "MB", "0 1 17 2047 2048 100", 0xc000_0201, [0, 1, 17, 2047, 2048, 100]),
        (&amd, "SMBA", "0 1 17 2047 4096 100", 0xc000_0281, [0, 1, 17, 2047, 4096, 100]),
    ] {
        let found = shown_and_programmed(processor, resource, levels, register);
        let Some((shown, programmed)) = found else { return };
        assert_eq!(shown, expected, "{resource}");
        let mut of_shown: Vec<u64> = match processor.vendor {
            Vendor::Intel => shown.iter().map(|percent| 100 - percent).collect(),
            Vendor::Amd => shown,
        };
        // A level that is there already is not written; the highest is, as the kernel starts.
        of_shown.dedup();
        assert!(programmed.ends_with(&of_shown), "{resource}: {programmed:?} for {of_shown:?}");
    }
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
