//! The names of the numbers that policies announce about programs
//! ([`Action::Estimated`](fairways_core::Action::Estimated)): the paper's word, and the unit behind
//! a comma where there is one.
//!
//! A number is announced before the plan that it decided, after the program's class where that is
//! announced. It is as of that decision; if it is another at a later decision that it decides, it
//! is announced again. What was not found out is not announced.
//!
//! Announcing a class voids the numbers before it, even if the class is the same as before. So a
//! number that no longer holds is withdrawn: for instance the slowdown to expect, while another
//! program is sampled.

/// The name of a number, by its place in [`ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u8);

impl Word {
    /// The text that actions carry.
    #[must_use]
    pub const fn text(self) -> &'static str {
        ALL[self.0 as usize]
    }
}

/// Defines each word once: its constant, and its place and text in [`ALL`].
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($name,)* }
        $($(#[$doc])* pub const $name: Word = Word(Place::$name as u8);)*
        /// The texts of all words.
        pub static ALL: [&str; [$($text),*].len()] = [$($text),*];
    };
}

words! {
    /// `lfoc`, `lfoc-plus`, of sensitive programs: the fewest ways with which slowdown is below 5 %
    /// (LFOC §4.2); the whole cache if no number of ways suffices.
    CRITICAL_SIZE = "critical size, ways";
    /// `lfoc`, `lfoc-plus`, of sensitive programs while no program is sampled; `ucp`,
    /// `ucp-slowdown`, `yu-petrov`, `kpart`: the ways that lookahead gave the program, or the
    /// cluster that it shares. LFOC+ goes on from there.
    LOOKAHEAD = "lookahead, ways";
    /// The completion time to expect with the planned ways, over another completion time.
    ///
    /// The other one is with all ways for `kpart`, and for `lfoc` and `lfoc-plus` where they
    /// sampled; it is with the number of ways at which the program is fastest for `ucp-slowdown`,
    /// and for `lfoc` and `lfoc-plus` with a profile (decision LFOC 1). `lfoc` and `lfoc-plus`
    /// announce it of sensitive programs while no program is sampled. Every policy that estimates a
    /// slowdown uses this word.
    SLOWDOWN = "expected slowdown";
    /// `lfoc`, `lfoc-plus`, of streaming and changing programs: the pressure (LLC misses per 1000
    /// cycles) that decided the class, either where Table 1 holds, or the mean of the last windows
    /// (§4.2).
    LLCMPKC = "LLCMPKC, misses per 1000 cycles";
    /// `lfoc`, `lfoc-plus`, of changing programs; `dunn`, as of the last plan: cycles stalled while
    /// an L2 miss is outstanding.
    STALLS = "stalls, of all cycles";
    /// `lfoc`, `lfoc-plus`, of changing programs that were sensitive: the mean occupancy of the
    /// last windows (§4.2).
    OCCUPANCY = "occupancy, ways";
    /// `ucp`: how many misses fewer than with the least number of ways (Qureshi and Patt §3.2).
    UTILITY_MISSES = "utility, misses per 1000 instructions";
    /// `ucp-slowdown`: the same for slowdown.
    UTILITY_SLOWDOWN = "utility, of slowdown";
    /// `yu-petrov`: the same for memory bandwidth.
    UTILITY_BANDWIDTH = "utility, MB/s";
    /// `kpart`: IPC over that with an equal share of the ways.
    SPEEDUP = "speedup, over an equal share";
    /// `dcat`, and `static` of promised programs: the ways that the program was promised, or that
    /// count as promised.
    BASELINE = "baseline, ways";
    /// `dcat`: the planned ways.
    WAYS = "ways";
    /// `mba-feedback`: the level of memory bandwidth.
    LEVEL = "level, percent";
    /// `dcat`: IPC with the ways that the program had, over that with the baseline (Table 1), when
    /// its class, its baseline or its ways changed last.
    NORMALIZED_IPC = "normalized IPC";
    /// `dcat`, of receivers and keepers: the fewest ways that are as good as any, as far as was
    /// seen (Table 1).
    PREFERRED = "preferred, ways";
    /// `locpart` and `parties`, of services: the tail latency (Algorithm 1, GetTL), when the class
    /// or the ways changed last; of `parties`, of the last period.
    TAIL = "tail, ms";
    /// `locpart` and `parties`, of services: what the tail leaves of the objective (Algorithm 1,
    /// line 13), at the same time; negative where the objective is missed.
    SLACK = "slack, of the objective";
    /// `casc`: the partial-cache miss rate (§4.2).
    PCMR = "PCMR, misses per 100 L2 references";
    /// `cache-fair`: the miss rate with a fair share of the cache.
    FAIR_MISS_RATE = "fair miss rate, misses per 1000 cycles";
    /// `cache-fair`: the CPI with a fair share of the cache.
    FAIR_CPI = "fair CPI, cycles per instruction";
}

/// The word of [`ALL`] for one that journals of earlier versions have, and programs that decide.
#[must_use]
pub fn current(what: &str) -> &str {
    if what == "slowdown" { SLOWDOWN.text() } else { what }
}

/// Whether a number with this word is about a thread, whatever its class. The other numbers belong
/// to the class that was announced before them, and are void once a class is announced again.
#[must_use]
pub fn outlives_class(what: &str) -> bool {
    [PCMR, FAIR_MISS_RATE, FAIR_CPI].iter().any(|word| word.text() == what)
}
