//! The features of the guest's processor.

/// All that QEMU emulates except cmpxchg16b, with which Linux 6.12 allocates memory: with it, the
/// kernel panicked or hung in eight of eighteen boots, its flags register wrong after that
/// instruction, and in none of twelve without it.
pub(crate) const MODEL: &str = "max,-cx16";

/// The processor's maker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vendor {
    /// Masks are runs of bits unless [`Cache::sparse`]; bandwidths are percentages.
    #[default]
    Intel,
    /// Masks may have holes; bandwidths are in units of 1/8 GB/s.
    Amd,
}

/// Sockets, each of which is one L3 domain; the cores of each, each of which is one L2 domain; the
/// threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Sockets of the machine.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
}

impl Topology {
    /// Logical CPUs.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.sockets * self.cores * self.threads
    }
}

impl Default for Topology {
    fn default() -> Self {
        Self { sockets: 2, cores: 2, threads: 1 }
    }
}

/// Allocation of a cache (Intel SDM 17.19.4, leaf 0x10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Bits of a mask.
    pub bits: u32,
    /// Bits that agents other than the cores may fill, too.
    pub shareable: u32,
    /// Classes of service.
    pub closids: u32,
    /// Whether code and data may have masks of their own.
    pub cdp: bool,
    /// Whether masks may have holes; AMD's always may.
    pub sparse: bool,
}

impl Default for Cache {
    fn default() -> Self {
        Self { bits: 12, shareable: 0xc00, closids: 8, cdp: true, sparse: false }
    }
}

/// Allocation of memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Classes of service.
    pub closids: u32,
    /// Intel: the least percentage and the step, 100 less the longest delay. AMD ignores it.
    pub step: u32,
    /// AMD: the power of two that is the most bandwidth. Intel ignores it.
    pub max_shift: u32,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self { closids: 8, step: 10, max_shift: 11 }
    }
}

/// Monitoring of the L3 cache (Intel SDM 17.18.5, leaf 0xF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitoring {
    /// Resource monitoring ids.
    pub rmids: u32,
    /// Bytes that a unit of a counter stands for.
    pub scale: u32,
    /// Whether traffic with all memory is counted, beside occupancy.
    pub total: bool,
    /// Whether traffic with the own node's memory is counted.
    pub local: bool,
    /// AMD: the counters of traffic that can be assigned to groups (ABMC), if they can be. Intel
    /// ignores it.
    pub assignable: Option<u32>,
}

impl Default for Monitoring {
    fn default() -> Self {
        Self { rmids: 32, scale: 65536, total: true, local: true, assignable: None }
    }
}

/// The readings of monitoring counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// Zero, as the emulated processor has it; the fastest.
    #[default]
    Zero,
    /// Always this many units.
    Fixed(u64),
    /// Occupancy is 10 units and the RMID; traffic grows by 16 units at each reading.
    Growing,
}

/// A processor with resource control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its maker.
    pub vendor: Vendor,
    /// Its sockets, cores and threads.
    pub topology: Topology,
    /// NUMA nodes of a socket, of as many cores each. With several, it is a Granite Rapids with
    /// sub-NUMA clusters (`snc_cpu_ids`).
    pub nodes: u32,
    /// Allocation of the L3 cache, if it has any.
    pub l3: Option<Cache>,
    /// Allocation of the L2 caches.
    pub l2: Option<Cache>,
    /// Allocation of memory bandwidth.
    pub bandwidth: Option<Bandwidth>,
    /// AMD: whether devices can fill the L3 under a class of their own (SDCIAE). Intel has none.
    pub io_alloc: bool,
    /// AMD: allocation of slow memory's bandwidth (SMBA). Intel has none.
    pub slow_bandwidth: Option<Bandwidth>,
    /// Monitoring.
    pub monitoring: Option<Monitoring>,
    /// The readings of monitoring counters.
    pub counters: Counters,
    /// Whether [`Outcome::registers`](crate::Outcome::registers) lists the kernel's writes. Slows
    /// each write.
    pub registers: bool,
}

impl Default for Processor {
    /// Two L3 domains of two CPUs with everything but L2, like the platform `lab` of
    /// `fairways_resctrl_rules`.
    fn default() -> Self {
        Self {
            vendor: Vendor::Intel,
            topology: Topology::default(),
            nodes: 1,
            l3: Some(Cache::default()),
            l2: None,
            bandwidth: Some(Bandwidth::default()),
            io_alloc: false,
            slow_bandwidth: None,
            monitoring: Some(Monitoring::default()),
            counters: Counters::Zero,
            registers: false,
        }
    }
}

/// CPUID's answer for a leaf and subleaf: EAX, EBX, ECX, EDX.
pub(crate) struct Leaf {
    pub(crate) leaf: u32,
    pub(crate) subleaf: u32,
    pub(crate) registers: [u32; 4],
}

fn leaf(leaf: u32, subleaf: u32, registers: [u32; 4]) -> Leaf {
    Leaf { leaf, subleaf, registers }
}

fn bit(set: bool, number: u32) -> u32 {
    u32::from(set) << number
}

impl Processor {
    /// The answers in place of the emulated processor's: leaves 0xF, 0x10 and AMD's 0x8000_0020.
    pub(crate) fn answers(&self) -> Vec<Leaf> {
        let mut all = Vec::new();
        let monitoring = self.monitoring;
        let most = monitoring.map_or(0, |m| m.rmids - 1);
        all.push(leaf(0xf, 0, [0, most, 0, bit(monitoring.is_some(), 1)]));
        if let Some(m) = monitoring {
            let events = bit(true, 0) | bit(m.total, 1) | bit(m.local, 2);
            all.push(leaf(0xf, 1, [0, m.scale, most, events]));
        }
        let intel = self.vendor == Vendor::Intel;
        let has_bandwidth = bit(intel && self.bandwidth.is_some(), 3);
        let what = bit(self.l3.is_some(), 1) | bit(self.l2.is_some(), 2) | has_bandwidth;
        all.push(leaf(0x10, 0, [0, what, 0, 0]));
        for (subleaf, cache) in [(1, self.l3), (2, self.l2)] {
            if let Some(c) = cache {
                let about = bit(c.cdp, 2) | bit(c.sparse, 3);
                all.push(leaf(0x10, subleaf, [c.bits - 1, c.shareable, about, c.closids - 1]));
            }
        }
        match self.vendor {
            // EAX: the longest delay less one, in percent; ECX bit 2: delays are linear.
            Vendor::Intel => all.extend(
                self.bandwidth
                    .map(|b| leaf(0x10, 3, [99 - b.step, 0, bit(true, 2), b.closids - 1])),
            ),
            // AMD64 Architecture Programmer's Manual, volume 3, E.4.18: a subleaf for each bit.
            Vendor::Amd => {
                let both = [(1, self.bandwidth), (2, self.slow_bandwidth)];
                let which: u32 = both.iter().map(|(number, b)| bit(b.is_some(), *number)).sum();
                let which = which | bit(self.io_alloc, 6);
                let assignable = monitoring.and_then(|m| m.assignable);
                all.push(leaf(0x8000_0020, 0, [0, which | bit(assignable.is_some(), 5), 0, 0]));
                if let Some(counters) = assignable {
                    // Subleaf 3: seven kinds of transactions are distinguished.
                    all.push(leaf(0x8000_0020, 3, [0, 7, 0x7f, 0]));
                    all.push(leaf(0x8000_0020, 5, [0, counters - 1, 0, 0]));
                }
                all.extend(both.into_iter().filter_map(|(subleaf, b)| {
                    Some(leaf(0x8000_0020, subleaf, [b?.max_shift, 0, 0, b?.closids - 1]))
                }));
            }
        }
        all
    }

    /// The additions to the emulated processor's answers: monitoring (CQM) and
    /// allocation (RDT-A).
    pub(crate) fn additions(&self) -> Vec<Leaf> {
        let allocates = self.l3.is_some() || self.l2.is_some() || self.bandwidth.is_some();
        let what = bit(self.monitoring.is_some(), 12) | bit(allocates, 15);
        let mut all = vec![leaf(0x7, 0, [0, what, 0, 0])];
        if self.vendor == Vendor::Amd {
            all.push(leaf(0x8000_0008, 0, [0, bit(self.bandwidth.is_some(), 6), 0, 0]));
        }
        all
    }

    /// QEMU's description of it: leaves up to 0x14 and 0x8000_0021 exist.
    pub(crate) fn model(&self) -> String {
        let vendor = match self.vendor {
            Vendor::Intel => "GenuineIntel",
            Vendor::Amd => "AuthenticAMD",
        };
        let model = if self.nodes > 1 { ",family=6,model=173,stepping=1" } else { "" };
        format!("{MODEL},vendor={vendor}{model},l3-cache=on,level=0x14,xlevel=0x80000021")
    }
}
