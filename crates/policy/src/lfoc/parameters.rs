//! LFOC's numbers.

use fairways_core::Q32;

use crate::slowdown::Reference;

/// The parameters of LFOC under the paper's names, with the paper's defaults.
///
/// Slowdowns are in percent: 103 is a slowdown of 1.03.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How many streaming programs fill a way (Algorithm 1, `max_streaming_way`).
    pub max_streaming_way: u32,
    /// How many light programs take the room of one streaming program (Algorithm 1,
    /// `gaps_per_streaming`).
    pub gaps_per_streaming: u32,
    /// The most ways reserved for streaming programs (Algorithm 1, `min(2, ...)`).
    pub max_ways_streaming: u32,
    /// Streaming, in one way assignment: slowdown at most (Table 1).
    pub streaming_slowdown_percent: u32,
    /// Streaming, in the same way assignment: LLCMPKC at least (Table 1). Decision LFOC 2: both
    /// conditions hold at one way count, else the 55 measured programs fall 13/15/27.
    pub streaming_llcmpkc: Q32,
    /// Streaming, in every way assignment: slowdown below (Table 1).
    pub streaming_slowdown_bound_percent: u32,
    /// Sensitive: slowdown at least (Table 1).
    pub sensitive_slowdown_percent: u32,
    /// Sensitive: from this many ways on (Table 1).
    pub sensitive_from_ways: u32,
    /// What slowdown is relative to, in classes and in lookahead. Decision LFOC 1: of a known
    /// profile, the best way count; the classes are the same either way.
    pub reference: Reference,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            max_streaming_way: 5,
            gaps_per_streaming: 3,
            max_ways_streaming: 2,
            streaming_slowdown_percent: 103,
            streaming_llcmpkc: Q32::from_int(10),
            streaming_slowdown_bound_percent: 106,
            sensitive_slowdown_percent: 105,
            sensitive_from_ways: 2,
            reference: Reference::Best,
        }
    }
}
