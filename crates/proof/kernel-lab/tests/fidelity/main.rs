//! Sequences of operations on a real kernel's resctrl, and on the emulator's: the answers are the
//! same.
//!
//! Where there is no FUSE, the kernel is compared with the rules that the emulator obeys; so it is
//! in `writes_of_nothing`, since FUSE does not pass on a write of no bytes.
//!
//! A part runs by default; `FAIRWAYS_FIDELITY=1000 cargo test -p fairways-kernel-lab --test
//! fidelity` makes it a thousand sequences for each machine. `FAIRWAYS_FIDELITY_SEED` is the first
//! seed; `FAIRWAYS_FIDELITY_KEEP` is a directory for steps and transcripts.

#![allow(clippy::unwrap_used)]

mod answers;
mod compare;
mod fuzzed;
mod levels;

use answers::{Case, ask, check, check_on_each, number};
use fairways_kernel_lab::generate::Grounds;
use fairways_kernel_lab::steps::parse;
use fairways_kernel_lab::{
    Bandwidth, Cache, Kernel, Monitoring, Processor, Topology, Vendor, required,
};
use fairways_resctrl_rules::platform::{BandwidthAllocation, CacheAllocation, Platform};

/// Enough RMIDs that it does not matter when they are clean.
const MANY: u32 = 4096;

fn processor(rmids: u32) -> Processor {
    let monitoring = Some(Monitoring { rmids, ..Monitoring::default() });
    Processor { monitoring, ..Processor::default() }
}

fn platform(rmids: u32) -> Platform {
    Platform::lab().with_rmids(rmids)
}

const OPTIONS: [&str; 8] = ["", "", "", "cdp", "debug", "mba_MBps", "cdp,debug", "mba_MBps,debug"];

/// The lab's machine with many RMIDs.
fn case(name: &'static str) -> Case {
    Case {
        name,
        kernel: Kernel::Sid,
        grounds: Grounds {
            processor: processor(MANY),
            options: OPTIONS.to_vec(),
            few_rmids: false,
            plug: false,
        },
        platform: platform(MANY),
        mounted: true,
    }
}

/// Steps whose answers have long been known.
#[test]
fn known_steps() {
    let name = "known_steps";
    let Some(lab) = required(name, Kernel::Sid) else { return };
    let steps = parse(include_str!("../steps/known")).unwrap();
    let mut case = case(name);
    case.grounds.processor = Processor::default();
    case.platform = Platform::lab();
    ask(case, &lab, &steps, 3);
}

#[test]
fn random_sequences() {
    check(case("random_sequences"), 60);
}

#[test]
fn writes_of_nothing() {
    let mut case = case("writes_of_nothing");
    case.mounted = false;
    check(case, 20);
}

/// Texts with which a fuzzer covered the rules.
#[test]
fn fuzzed_texts() {
    let seed = number("FAIRWAYS_FIDELITY_SEED").unwrap_or(0);
    for (kernel, by_default) in [(Kernel::Sid, 200), (Kernel::Trixie, 40), (Kernel::Bookworm, 40)] {
        let case = Case { kernel, ..case("fuzzed_texts") };
        let Some(lab) = required(case.name, kernel) else { return };
        let platform = case.platform.clone().with_kernel(lab.rules());
        let most = number("FAIRWAYS_FIDELITY").unwrap_or(by_default);
        let mut steps = Vec::new();
        let mut count = 0;
        for (name, bytes) in fuzzed::corpus(seed).take(usize::try_from(most).unwrap()) {
            steps.extend(fuzzed::steps(&name, &bytes, &platform));
            count += 1;
        }
        ask(case, &lab, &steps, count);
    }
}

#[test]
fn cpus_come_and_go() {
    let mut case = case("cpus_come_and_go");
    case.grounds.plug = true;
    check_on_each(&case, 20, 8);
}

#[test]
fn ids_run_out() {
    let mut case = case("ids_run_out");
    case.grounds.processor = processor(12);
    case.grounds.few_rmids = true;
    case.platform = platform(12);
    check(case, 8);
}

#[test]
fn sparse_masks_of_twenty_ways() {
    let mut case = case("sparse_masks_of_twenty_ways");
    let l3 = Cache { bits: 20, shareable: 0xc_0000, closids: 6, cdp: true, sparse: true };
    case.grounds.processor.l3 = Some(l3);
    case.platform = case.platform.with_ways(20, 0xc_0000).with_sparse_masks(true);
    case.platform.l3.as_mut().unwrap().closids = 6;
    check_on_each(&case, 20, 8);
}

/// Slow memory has bandwidth of its own (SMBA), with a limit and classes of its own.
#[test]
fn amd_with_slow_memory() {
    let mut case = amd_s("amd_with_slow_memory");
    // AMD's delays are not linear: `mba_MBps` is refused.
    case.grounds.options = vec!["", "", "", "cdp", "debug", "cdp,debug", "mba_MBps"];
    case.grounds.processor.slow_bandwidth = Some(Bandwidth { closids: 6, step: 0, max_shift: 12 });
    let mb = case.platform.mb.clone().unwrap();
    case.platform.smba = Some(BandwidthAllocation { max: 4096, closids: 6, ..mb });
    check_on_each(&case, 30, 8);
}

#[test]
fn amd() {
    check_on_each(&amd_s("amd"), 20, 8);
}

/// A class for devices, which AMD's alone have.
#[test]
fn amd_with_io_alloc() {
    let mut case = amd_s("amd_with_io_alloc");
    case.grounds.processor.io_alloc = true;
    case.platform.l3.as_mut().unwrap().io_alloc = true;
    let Some(lab) = required(case.name, case.kernel) else { return };
    let steps = parse(include_str!("../steps/io_alloc")).unwrap();
    ask(Case { name: "known_io_alloc", ..case.clone() }, &lab, &steps, 2);
    check(case, 20);
}

fn amd_s(name: &'static str) -> Case {
    let mut case = case(name);
    case.grounds.processor.vendor = Vendor::Amd;
    // To the kernel, each of this processor's cores has an L3 of its own.
    let zen = Platform::zen().with_rmids(MANY).with_domains(4, 1).with_ways(12, 0xc00);
    case.platform = zen.with_closids(8).with_llc_bytes(16 << 20);
    // Linux uses the size of the L2 as the limit of max_threshold_occupancy here.
    case.platform.llc_bytes = 512 << 10;
    case.platform.l2 = None;
    case.platform.smba = None;
    if let Some(monitoring) = &mut case.platform.monitoring {
        (monitoring.configurable, monitoring.scale_bytes) = (None, 65536);
    }
    if let Some(mb) = &mut case.platform.mb {
        mb.max = 2048;
    }
    case.grounds.processor.topology = Topology { sockets: 2, cores: 2, threads: 1 };
    case
}

/// L2 caches, one for each core, with fewer classes and other masks than the L3; code and data
/// apart in either.
#[test]
fn l2() {
    let mut case = case("l2");
    let l2 = Cache { bits: 8, shareable: 0x80, closids: 6, cdp: true, sparse: false };
    case.grounds.processor.l2 = Some(l2);
    case.grounds.options = vec!["", "", "", "cdp", "cdpl2", "cdp,cdpl2", "debug", "cdpl2,mba_MBps"];
    let l3 = case.platform.l3.clone().unwrap();
    case.platform.l2 = Some(CacheAllocation {
        cbm_len: 8,
        shareable_bits: 0x80,
        closids: 6,
        // QEMU's.
        cache_bytes: 4 << 20,
        ..l3
    });
    let Some(lab) = required(case.name, case.kernel) else { return };
    let steps = parse(include_str!("../steps/l2")).unwrap();
    ask(Case { name: "known_l2", ..case.clone() }, &lab, &steps, 6);
    check_on_each(&case, 40, 10);
}

/// Two NUMA nodes share each L3 (sub-NUMA clusters).
#[test]
fn nodes_that_share_a_cache() {
    let mut case = case("nodes_that_share_a_cache");
    case.grounds.processor.nodes = 2;
    case.platform = case.platform.with_nodes_per_cache(2);
    check(case, 20);
}

/// A client's chip: ways of L2 caches, and nothing else.
#[test]
fn l2_alone() {
    let mut case = case("l2_alone");
    let l2 = Cache { bits: 16, shareable: 0, closids: 8, cdp: true, sparse: false };
    let Processor { l3, bandwidth, monitoring, .. } = &mut case.grounds.processor;
    (*l3, *bandwidth, *monitoring) = (None, None, None);
    case.grounds.processor.l2 = Some(l2);
    case.grounds.options = vec!["", "", "cdpl2", "cdp", "debug", "cdpl2,debug"];
    let cpus = case.platform.cpus.clone();
    case.platform = Platform::alder_lake_l2().with_cpus(cpus);
    // QEMU's.
    case.platform.l2.as_mut().unwrap().cache_bytes = 4 << 20;
    check_on_each(&case, 30, 8);
}

#[test]
fn debian_13_s_kernel() {
    let mut case = case("debian_13_s_kernel");
    case.kernel = Kernel::Trixie;
    check(case, 20);
}

#[test]
fn debian_12_s_kernel() {
    let mut case = case("debian_12_s_kernel");
    case.kernel = Kernel::Bookworm;
    check(case, 20);
}

/// Counters of memory traffic that are assigned to groups: fewer than the groups want.
#[test]
fn assigned_counters() {
    let mut case = amd_s("assigned_counters");
    case.grounds.options = vec!["", "", "cdp", "debug", "mba_MBps"];
    let counters = Some(6);
    if let (Some(theirs), Some(ours)) =
        (&mut case.grounds.processor.monitoring, &mut case.platform.monitoring)
    {
        (theirs.assignable, ours.assignable) = (counters, counters);
    }
    let Some(lab) = required(case.name, case.kernel) else { return };
    let steps = parse(include_str!("../steps/counters")).unwrap();
    ask(Case { name: "known_counters", ..case.clone() }, &lab, &steps, 4);
    check(case, 20);
}
