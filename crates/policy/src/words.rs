//! The numbers that policies tell of programs ([`Action::Estimated`](fairways_core::Action::Estimated)): the
//! paper's word, and the unit behind a comma where there is one.
//!
//! Each stands before the plan that it decided, behind the program's class where that is told. It is as of that
//! decision, and is told again at a later one that it decides if it is another then. Where nothing was found out,
//! nothing is told. A class makes the numbers before it void, also if it is the class of before: so a number is
//! taken back that no longer holds, such as the slowdown to expect while another program is sampled.
//!
//! | word | of whom | what it is |
//! |---|---|---|
//! | [`CRITICAL_SIZE`] | `lfoc`, `lfoc-plus`: sensitive | the fewest ways with which slowdown is below 5 % (LFOC §4.2); the whole cache if there are none |
//! | [`LOOKAHEAD`] | `lfoc`, `lfoc-plus`: sensitive, while no program is sampled; `ucp`, `ucp-slowdown`, `yu-petrov`, `kpart` | the ways that lookahead gave it, or the cluster that it shares; LFOC+ goes on from there |
//! | [`SLOWDOWN`] | `lfoc`, `lfoc-plus`: sensitive, while no program is sampled; `ucp-slowdown`, `kpart` | the completion time to expect with the ways given, over that with all (`kpart`; `lfoc` and `lfoc-plus` where they sampled), or with the number at which it is fastest (`ucp-slowdown`; `lfoc` and `lfoc-plus` with a profile, decision LFOC 1) |
//! | [`LLCMPKC`] | `lfoc`, `lfoc-plus`: streaming, changing | the pressure that made it so: where Table 1 holds, or the mean of the last windows (§4.2) |
//! | [`STALLS`] | `lfoc`, `lfoc-plus`: changing; `dunn` | cycles stalled while an L2 miss is outstanding; `dunn`: as of the last plan |
//! | [`OCCUPANCY`] | `lfoc`, `lfoc-plus`: changing, of a sensitive one | the mean of the last windows (§4.2) |
//! | [`UTILITY_MISSES`] | `ucp` | how many fewer it misses than with the least that there is (Qureshi and Patt §3.2) |
//! | [`UTILITY_SLOWDOWN`], [`UTILITY_BANDWIDTH`] | `ucp-slowdown`, `yu-petrov` | the same of their curves |
//! | [`SPEEDUP`] | `kpart` | IPC over that with an equal share of the ways |
//! | [`BASELINE`] | `dcat`; `static`: promised | the ways that it was promised, or counts as promised |
//! | [`WAYS`] | `dcat` | the ways that it is to have |
//! | [`NORMALIZED_IPC`] | `dcat` | IPC with the ways that it had, over that with the baseline (Table 1), when its class, its baseline or its ways changed last |
//! | [`PREFERRED`] | `dcat`: receivers, keepers | the fewest ways as good as any, as far as was seen (Table 1) |
//! | [`TAIL`] | `locpart`: services | the tail latency (Algorithm 1, GetTL), when its class or its ways changed last |
//! | [`SLACK`] | `locpart`: services | what the tail leaves of the objective (Algorithm 1, line 13); less than nothing where it is missed; as of the same |
//! | [`PCMR`] | `casc` | the partial-cache miss rate (§4.2) |
//! | [`FAIR_MISS_RATE`], [`FAIR_CPI`] | `cache-fair` | what it would have with a fair share of the cache |

/// A word, by its place among [`ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u8);

impl Word {
    /// As actions have it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        ALL[self.0 as usize]
    }
}

/// Each word once: its constant, and its place and text in [`ALL`].
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($name,)* }
        $($(#[$doc])* pub const $name: Word = Word(Place::$name as u8);)*
        /// All of them, as actions have them.
        pub static ALL: [&str; [$($text),*].len()] = [$($text),*];
    };
}

words! {
    /// LFOC's critical size.
    CRITICAL_SIZE = "critical size, ways";
    /// What lookahead gave.
    LOOKAHEAD = "lookahead, ways";
    /// Completion time with the ways given over that at its fastest; whoever estimates one says so by this word.
    SLOWDOWN = "slowdown";
    /// LLC misses per 1000 cycles.
    LLCMPKC = "LLCMPKC, misses per 1000 cycles";
    /// Stalls for what misses the L2.
    STALLS = "stalls, of all cycles";
    /// What a program holds of the cache.
    OCCUPANCY = "occupancy, ways";
    /// UCP's utility.
    UTILITY_MISSES = "utility, misses per 1000 instructions";
    /// The same in slowdown.
    UTILITY_SLOWDOWN = "utility, of slowdown";
    /// The same in memory bandwidth.
    UTILITY_BANDWIDTH = "utility, MB/s";
    /// KPart's speedup.
    SPEEDUP = "speedup, over an equal share";
    /// dCat's baseline.
    BASELINE = "baseline, ways";
    /// What a plan is to give.
    WAYS = "ways";
    /// dCat's normalized IPC.
    NORMALIZED_IPC = "normalized IPC";
    /// dCat's preferred number of ways.
    PREFERRED = "preferred, ways";
    /// A service's tail latency.
    TAIL = "tail, ms";
    /// What it leaves of the objective.
    SLACK = "slack, of the objective";
    /// CASC's partial-cache miss rate.
    PCMR = "PCMR, misses per 100 L2 references";
    /// Cache-fair's miss rate.
    FAIR_MISS_RATE = "fair miss rate, misses per 1000 cycles";
    /// Cache-fair's CPI.
    FAIR_CPI = "fair CPI, cycles per instruction";
}

/// Whether a number with this word says something of a thread whatever its class. The others are of the class
/// that was told before them, and void once one is told again.
#[must_use]
pub fn outlives_class(what: &str) -> bool {
    [PCMR, FAIR_MISS_RATE, FAIR_CPI].iter().any(|word| word.text() == what)
}
