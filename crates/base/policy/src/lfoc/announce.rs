//! Announcing LFOC's findings: why a program is of a class by Table 1, and the numbers of a plan.

use fairways_core::{Action, AppId, Ways};

use super::Parameters;
use super::classify::{Class, Evidence, KnownCurves, streaming_llcmpkc};
use super::monitor::Signal;
use crate::announce::{Announcer, raw};
use crate::running::RunningPrograms;
use crate::words;

/// The class of a program about which nothing is known (§4.1), and of one that is to be sampled
/// again (§4.2).
pub(crate) const UNKNOWN: &str = "unknown";
const CHANGING: &str = "changing";

/// Table 1's rule, and the evidence that it was applied to.
pub(crate) const fn reason(class: Class, by: Evidence) -> &'static str {
    match (class, by) {
        (Class::Sensitive, Evidence::Profile) => "few ways slow it down, by its profile",
        (Class::Sensitive, Evidence::Windows) => "few ways slow it down, by its windows",
        (Class::Sensitive, Evidence::EverySize) => "few ways slow it down; every size was sampled",
        (Class::Sensitive, Evidence::MissesLittle) => {
            "few ways slow it down; sampled until it missed little"
        }
        (Class::Sensitive, Evidence::GainsLittle) => {
            "few ways slow it down; sampled until more cache gained it little"
        }
        (Class::Streaming, Evidence::Profile) => "high LLCMPKC and little slowdown, by its profile",
        (Class::Streaming, Evidence::Windows) => "high LLCMPKC and little slowdown, by its windows",
        (Class::Streaming, Evidence::EverySize) => {
            "high LLCMPKC and little slowdown; every size was sampled"
        }
        (Class::Streaming, Evidence::MissesLittle) => {
            "high LLCMPKC and little slowdown; sampled until it missed little"
        }
        (Class::Streaming, Evidence::GainsLittle) => {
            "high LLCMPKC and little slowdown; sampled until more cache gained it little"
        }
        (Class::Light, Evidence::Profile) => "neither streaming nor sensitive, by its profile",
        (Class::Light, Evidence::Windows) => "neither streaming nor sensitive, by its windows",
        (Class::Light, Evidence::EverySize) => {
            "neither streaming nor sensitive; every size was sampled"
        }
        (Class::Light, Evidence::MissesLittle) => {
            "neither streaming nor sensitive; sampled until it missed little"
        }
        (Class::Light, Evidence::GainsLittle) => {
            "neither streaming nor sensitive; sampled until more cache gained it little"
        }
    }
}

/// Withdraws the ways and slowdowns that Algorithm 1 computed for these sensitive programs: the
/// plan does not follow it.
pub(super) fn withdraw_division(sensitive: &[AppId], announcer: &mut Announcer<'_>) {
    for &app in sensitive {
        announcer.withdraw(app, &[words::LOOKAHEAD, words::SLOWDOWN]);
    }
}

impl RunningPrograms {
    /// Announces a program's class, and the LLCMPKC that makes it a streaming one.
    pub(super) fn announce_class(
        &mut self,
        p: &Parameters,
        ways: Ways,
        app: AppId,
        (class, by, known): (Class, Evidence, KnownCurves<'_>),
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let mut announcer = self.announcer(act);
        announcer.announce_class(app, class.name(), reason(class, by));
        if class == Class::Streaming {
            let llcmpkc = streaming_llcmpkc(known, ways, p).and_then(raw);
            announcer.announce_numbers(app, [words::LLCMPKC], [llcmpkc]);
        }
    }

    /// Announces that a program has the class that it had before it was to be sampled again.
    pub(super) fn announce_unchanged(
        &mut self,
        app: AppId,
        class: Option<Class>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        if let Some(class) = class {
            let reason = "as before; sampling came to nothing";
            self.announcer(act).announce_class(app, class.name(), reason);
        }
    }

    /// Announces that a program's class has probably changed, with the averages that show it.
    pub(super) fn announce_changing(
        &mut self,
        app: AppId,
        signal: &Signal,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let mut announcer = self.announcer(act);
        announcer.announce_class(app, CHANGING, signal.reason);
        let what = [words::LLCMPKC, words::STALLS, words::OCCUPANCY];
        let (stalls, occupancy) = (signal.stalls, signal.occupancy);
        let more = [stalls, occupancy].map(|number| number.and_then(raw));
        announcer.announce_numbers(app, what, [raw(signal.llcmpkc), more[0], more[1]]);
    }
}
