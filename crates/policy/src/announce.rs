//! Classes and numbers of programs are told when they change, and no sooner; numbers are taken back that no longer hold.

#[cfg(test)]
use alloc::borrow::Cow;

use fairways_core::{Action, AppId, Q32, ThreadId};

use crate::program::RunningProgram;
use crate::words::{WAYS, Word};

/// Numbers that a policy tells of one program at most.
const MOST_NUMBERS: usize = 4;

/// A number in units of 2^-32; `None` where it is not known, or does not hold.
pub(crate) type Number = Option<i64>;

/// One that cannot be below nothing.
pub(crate) fn raw(value: Q32) -> Number {
    Some(i64::try_from(value.raw()).unwrap_or(i64::MAX))
}

/// One of ways.
pub(crate) fn raw_ways(count: u32) -> Number {
    Some(i64::from(count) << 32)
}

/// What was told of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    class: Option<(&'static str, &'static str)>,
    /// Which numbers were told, a bit for each place in its policy's list; their words, and what they are.
    known: u32,
    words: [Word; MOST_NUMBERS],
    numbers: [i64; MOST_NUMBERS],
}

impl Default for Announced {
    fn default() -> Self {
        Self { class: None, known: 0, words: [WAYS; MOST_NUMBERS], numbers: [0; MOST_NUMBERS] }
    }
}

impl Announced {
    /// Tells the class, again if it was told; numbers are void then.
    fn repeat_class(&mut self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        self.known = 0;
        if let Some((class, reason)) = self.class {
            act(Action::Classified { app, class: class.into(), reason: reason.into() });
        }
    }

    /// Tells those of the numbers that are news, at the bits of `known`.
    #[inline(never)]
    fn announce_changes(
        &mut self,
        app: AppId,
        known: u32,
        (words, now): (&[Word], &[i64]),
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let others = self.known != 0 && self.words[..words.len()] != *words;
        if others || self.known & !known != 0 {
            self.repeat_class(app, act);
        }
        self.words[..words.len()].copy_from_slice(words);
        let thread = ThreadId::first_of(app);
        for (place, (&what, &raw)) in words.iter().zip(now).enumerate().take(MOST_NUMBERS) {
            let news = self.known & 1 << place == 0 || self.numbers[place] != raw;
            if known & 1 << place != 0 && news {
                self.numbers[place] = raw;
                let value = Q32::from_raw(raw.max(0).unsigned_abs());
                act(Action::Estimated { thread, what: what.text().into(), value, raw });
            }
        }
        self.known = known;
    }

    /// What was told at this place.
    const fn number(&self, place: usize) -> Number {
        if self.known & 1 << place == 0 { None } else { Some(self.numbers[place]) }
    }
}

/// Tells of programs that run what was not told of them last. Whoever goes through them in their order is
/// quickest.
pub(crate) struct Announcer<'a> {
    programs: &'a [RunningProgram],
    announced: &'a mut [Announced],
    /// Who is to be told of next, if all are in turn.
    next: usize,
    act: &'a mut dyn FnMut(Action<'_>),
}

impl<'a> Announcer<'a> {
    /// `told` is by program.
    pub(crate) fn new(
        programs: &'a [RunningProgram],
        told: &'a mut [Announced],
        act: &'a mut dyn FnMut(Action<'_>),
    ) -> Self {
        Self { programs, announced: told, next: 0, act }
    }

    /// Those that are told of.
    pub(crate) const fn programs(&self) -> &'a [RunningProgram] {
        self.programs
    }

    /// Its class, and why; whether one of them is news. Its numbers are void then.
    pub(crate) fn announce_class(
        &mut self,
        app: AppId,
        class: &'static str,
        reason: &'static str,
    ) -> bool {
        let Some(index) = self.find(app) else { return false };
        let told = &mut self.announced[index];
        let news = told.class != Some((class, reason));
        if news {
            told.class = Some((class, reason));
            told.repeat_class(app, self.act);
        }
        news
    }

    /// All numbers of its class, by their words (`words.rs`), which are always in the same order. If one was told
    /// that does not hold any more, the class is told again before them.
    #[inline(always)]
    pub(crate) fn announce_numbers<const N: usize>(
        &mut self,
        app: AppId,
        words: [Word; N],
        now: [Number; N],
    ) {
        const { assert!(N <= MOST_NUMBERS, "more numbers than are kept") };
        let Some(index) = self.find(app) else { return };
        let told = &mut self.announced[index];
        let mut known = 0;
        for (place, number) in now.iter().enumerate() {
            known |= u32::from(number.is_some()) << place;
        }
        // What is not known is compared with what was told last in its place.
        let mut now = now.map(Option::unwrap_or_default);
        for (place, number) in now.iter_mut().enumerate() {
            if known & 1 << place == 0 {
                *number = told.numbers[place];
            }
        }
        if told.known != known || told.words[..N] != words || told.numbers[..N] != now {
            told.announce_changes(app, known, (&words, &now), self.act);
        }
    }

    /// Takes back those of its numbers that have one of these words.
    pub(crate) fn withdraw(&mut self, app: AppId, words: &[Word]) {
        let Some(index) = self.find(app) else { return };
        let told = &mut self.announced[index];
        let gone = (0..MOST_NUMBERS).filter(|&place| words.contains(&told.words[place]));
        let known = gone.fold(told.known, |known, place| known & !(1 << place));
        if told.known != known {
            let (words, now) = (told.words, told.numbers);
            told.announce_changes(app, known, (&words, &now), self.act);
        }
    }

    /// What was told of it by this word, if that still holds.
    pub(crate) fn last_number(&mut self, app: AppId, what: Word) -> Number {
        let told = &self.announced[self.find(app)?];
        let all = (0..MOST_NUMBERS).filter(|&place| told.words[place] == what);
        all.filter_map(|place| told.number(place)).next()
    }

    #[inline(always)]
    fn find(&mut self, app: AppId) -> Option<usize> {
        let is = |program: &RunningProgram| program.app == app;
        // Often it has just started.
        if self.programs.last().is_some_and(is) {
            return Some(self.programs.len() - 1);
        }
        let (before, after) = self.programs.split_at(self.next.min(self.programs.len()));
        let index = match after.iter().position(is) {
            Some(index) => before.len() + index,
            None => before.iter().position(is)?,
        };
        self.next = index;
        Some(index)
    }
}

/// The class of a program where a paper has no classes but clusters: which of them it is in, by the letter that a
/// drawing of the plan has for it.
pub(crate) fn cluster_name(index: u32) -> &'static str {
    let place = usize::try_from(index).unwrap_or(CLUSTERS.len());
    CLUSTERS.get(place).copied().unwrap_or("cluster ?")
}

#[rustfmt::skip]
static CLUSTERS: [&str; 52] = [
    "cluster A", "cluster B", "cluster C", "cluster D", "cluster E", "cluster F", "cluster G",
    "cluster H", "cluster I", "cluster J", "cluster K", "cluster L", "cluster M", "cluster N",
    "cluster O", "cluster P", "cluster Q", "cluster R", "cluster S", "cluster T", "cluster U",
    "cluster V", "cluster W", "cluster X", "cluster Y", "cluster Z", "cluster a", "cluster b",
    "cluster c", "cluster d", "cluster e", "cluster f", "cluster g", "cluster h", "cluster i",
    "cluster j", "cluster k", "cluster l", "cluster m", "cluster n", "cluster o", "cluster p",
    "cluster q", "cluster r", "cluster s", "cluster t", "cluster u", "cluster v", "cluster w",
    "cluster x", "cluster y", "cluster z",
];

/// A text that a policy says. It knows all of them beforehand: saying one allocates nothing.
#[cfg(test)]
pub(crate) fn static_text(text: Cow<'static, str>) -> &'static str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => panic!("{text:?} was made up"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use fairways_core::Wish;

    use super::*;
    use crate::words::{LOOKAHEAD, SLOWDOWN};

    /// What is told of one program: reasons of classes, and words of numbers.
    fn told(told: &mut Announced, tell: impl FnOnce(&mut Announcer<'_>)) -> Vec<&'static str> {
        let mut texts = Vec::new();
        let programs = [RunningProgram { app: AppId(3), wish: Wish::default(), profile: None }];
        let mut act = |action: Action<'_>| match action {
            Action::Classified { reason, .. } => texts.push(static_text(reason)),
            Action::Estimated { what, .. } => texts.push(static_text(what)),
            _ => {}
        };
        tell(&mut Announcer::new(&programs, core::slice::from_mut(told), &mut act));
        texts
    }

    #[test]
    fn a_class_is_told_when_it_or_its_reason_is_another() {
        let mut of = Announced::default();
        let mut class = |class, reason| {
            told(&mut of, |announcer| _ = announcer.announce_class(AppId(3), class, reason)).len()
        };
        assert_eq!(
            [class("a", "x"), class("a", "x"), class("a", "y"), class("b", "y")],
            [1, 0, 1, 1]
        );
    }

    #[test]
    fn numbers_are_told_when_they_are_others_and_void_when_one_is_missing() {
        let mut of = Announced::default();
        told(&mut of, |announcer| _ = announcer.announce_class(AppId(3), "a", "x"));
        let mut numbers = |now: [Number; 2]| {
            told(&mut of, |announcer| {
                announcer.announce_numbers(AppId(3), [LOOKAHEAD, SLOWDOWN], now)
            })
        };
        let [lookahead, slowdown] = [LOOKAHEAD, SLOWDOWN].map(Word::text);
        assert_eq!(numbers([Some(0), None]), [lookahead]);
        assert_eq!(numbers([Some(0), Some(2)]), [slowdown]);
        assert_eq!(numbers([Some(1), Some(2)]), [lookahead]);
        assert!(numbers([Some(1), Some(2)]).is_empty());
        assert_eq!(numbers([Some(1), None]), ["x", lookahead]);
        assert_eq!(numbers([None, None]), ["x"]);
        assert!(numbers([None, None]).is_empty());
    }

    #[test]
    fn what_is_withdrawn_is_void_and_the_rest_is_told_again() {
        let mut of = Announced::default();
        told(&mut of, |announcer| {
            announcer.announce_class(AppId(3), "a", "x");
            announcer.announce_numbers(AppId(3), [LOOKAHEAD, SLOWDOWN], [Some(1), Some(2)]);
        });
        let mut withdraw = || told(&mut of, |announcer| announcer.withdraw(AppId(3), &[SLOWDOWN]));
        assert_eq!(withdraw(), ["x", LOOKAHEAD.text()]);
        assert!(withdraw().is_empty());
    }
}
