//! Table 1: the class of a program.

use fairways_core::{Curve, Profile, Q32, Ways};

use super::Parameters;
use crate::slowdown::Reference;

/// How a program behaves towards the cache (LFOC §3). A program of the paper's *unknown* class has
/// none of these yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Misses much with any number of ways, and gains nothing from more.
    Streaming,
    /// Is slowed down when it has few ways.
    Sensitive,
    /// Neither: its working set fits into the private caches.
    Light,
}

impl Class {
    /// The class in a word, as tables show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Sensitive => "sensitive",
            Self::Light => "light",
        }
    }
}

/// The evidence for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A profile that the program started with.
    Profile,
    /// Windows with whatever ways it had (policy `fairways`).
    Windows,
    /// Sampling, up to the largest size or to one of the early stops.
    EverySize,
    MissesLittle,
    GainsLittle,
}

/// A program's curves, from its profile or from sampling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCurves<'a> {
    /// Instructions per cycle.
    pub(crate) ipc: &'a Curve,
    /// LLC misses per 1000 cycles.
    pub(crate) llcmpkc: &'a Curve,
    /// The IPC that its slowdown is relative to.
    pub(crate) reference: Reference,
}

/// The class of a program with this profile in a cache of `ways` ways (Table 1).
#[must_use]
pub fn classify(profile: &Profile, ways: Ways, parameters: &Parameters) -> Class {
    let Profile { ipc, llcmpkc, .. } = profile;
    class_of(KnownCurves { ipc, llcmpkc, reference: parameters.reference }, ways, parameters)
}

/// The class by Table 1. "Slowdown at most p %" is tested as `100 * ipc_alone <= p * ipc_there`,
/// which rounds nothing.
pub(crate) fn class_of(known: KnownCurves<'_>, ways: Ways, p: &Parameters) -> Class {
    let alone = 100 * u128::from(known.reference.ipc(known.ipc, ways).raw());
    let (mut streams_somewhere, mut bounded, mut sensitive) = (false, true, false);
    for ways in 1..=ways.get() {
        let here = u128::from(known.ipc.at(ways).raw());
        streams_somewhere |= alone <= u128::from(p.streaming_slowdown_percent) * here
            && known.llcmpkc.at(ways) >= p.streaming_llcmpkc;
        bounded &= alone < u128::from(p.streaming_slowdown_bound_percent) * here;
        sensitive |= ways >= p.sensitive_from_ways
            && alone >= u128::from(p.sensitive_slowdown_percent) * here;
    }
    if streams_somewhere && bounded {
        Class::Streaming
    } else if sensitive {
        Class::Sensitive
    } else {
        Class::Light
    }
}

/// The LLCMPKC that makes a program a streaming one: with the fewest ways where both conditions
/// hold.
pub(crate) fn streaming_llcmpkc(known: KnownCurves<'_>, ways: Ways, p: &Parameters) -> Option<Q32> {
    let alone = 100 * u128::from(known.reference.ipc(known.ipc, ways).raw());
    let bound = u128::from(p.streaming_slowdown_percent);
    (1..=ways.get())
        .filter(|&ways| alone <= bound * u128::from(known.ipc.at(ways).raw()))
        .map(|ways| known.llcmpkc.at(ways))
        .find(|&llcmpkc| llcmpkc >= p.streaming_llcmpkc)
}

/// The critical size (§4.2): the fewest ways with which slowdown is below 5 %; the whole cache if
/// no number suffices (decision LFOC 14).
pub(crate) fn critical_ways(known: KnownCurves<'_>, ways: Ways, p: &Parameters) -> u32 {
    let alone = 100 * u128::from(known.reference.ipc(known.ipc, ways).raw());
    let percent = u128::from(p.critical_slowdown_percent);
    (1..=ways.get())
        .find(|&ways| alone < percent * u128::from(known.ipc.at(ways).raw()))
        .unwrap_or(ways.get())
}

/// The critical size by a slowdown table, which is rounded in its last bit: for announcements.
pub(crate) fn critical_size(slowdowns: &Curve, ways: Ways, p: &Parameters) -> u32 {
    let bound = u64::from(p.critical_slowdown_percent).saturating_mul(Q32::ONE.raw());
    let within = slowdowns.values().iter().take(ways.get() as usize);
    let mut critical =
        (1..).zip(within).filter(|(_, slowdown)| slowdown.raw().saturating_mul(100) < bound);
    critical.next().map_or(ways.get(), |(ways, _)| ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of a program with these slowdowns (in hundredths of a percent) and LLCMPKCs.
    fn class(slowdowns: [u32; 4], llcmpkc: [u32; 4]) -> Class {
        // IPC to within 2^-32 of 1 / slowdown: thresholds below are met with 1/100 % to spare.
        let ipc = slowdowns.map(|percent| Q32::ratio(10_000, u64::from(percent)));
        let flat = Curve::new([Q32::ONE; 4]).unwrap();
        let profile = Profile {
            ipc: Curve::new(ipc).unwrap(),
            llcmpkc: Curve::new(llcmpkc.map(Q32::from_int)).unwrap(),
            llcmpki: flat,
            bandwidth_mbps: flat,
            stalls_l2_miss: flat,
        };
        classify(&profile, Ways::new(4).unwrap(), &Parameters::default())
    }

    #[test]
    fn table_1() {
        let much = [20; 4];
        assert_eq!(class([10_400, 10_200, 10_000, 10_000], much), Class::Streaming);
        assert_eq!(class([10_700, 10_200, 10_000, 10_000], much), Class::Light);
        assert_eq!(class([12_000, 10_600, 10_000, 10_000], much), Class::Sensitive);
        assert_eq!(class([10_400, 10_200, 10_000, 10_000], [9; 4]), Class::Light);
        // Slow with one way only: "for a number of ways >= 2".
        assert_eq!(class([20_000, 10_400, 10_000, 10_000], [0; 4]), Class::Light);
    }

    #[test]
    fn both_streaming_conditions_hold_at_one_way_count() {
        // Decision LFOC 2: LLCMPKC is high only where the slowdown is above 1.03.
        assert_eq!(class([10_450, 10_000, 10_000, 10_000], [20, 9, 9, 9]), Class::Light);
        assert_eq!(class([10_250, 10_000, 10_000, 10_000], [20, 9, 9, 9]), Class::Streaming);
    }

    #[test]
    fn the_bounds_are_as_printed() {
        // Table 1: streaming is below 1.06 everywhere, sensitive is 1.05 or more.
        assert_eq!(class([10_590, 10_000, 10_000, 10_000], [20; 4]), Class::Streaming);
        assert_eq!(class([10_601, 10_000, 10_000, 10_000], [20; 4]), Class::Light);
        assert_eq!(class([10_000, 10_501, 10_000, 10_000], [0; 4]), Class::Sensitive);
        assert_eq!(class([10_000, 10_499, 10_000, 10_000], [0; 4]), Class::Light);
    }
}
