//! Announces the class and the numbers of programs, only when they change. Numbers that are no
//! longer valid are withdrawn.

#[cfg(test)]
use alloc::borrow::Cow;

use fairways_core::{Action, AppId, Q32, ThreadId};

use crate::program::RunningProgram;
use crate::words::{WAYS, Word};

/// The most numbers that a policy announces for one program.
const MOST_NUMBERS: usize = 4;

/// A number in units of 2^-32; `None` where it is unknown or void.
pub(crate) type Number = Option<i64>;

/// The number for a value that is never negative.
pub(crate) fn raw(value: Q32) -> Number {
    Some(i64::try_from(value.raw()).unwrap_or(i64::MAX))
}

/// The number for a count of ways.
pub(crate) fn raw_ways(count: u32) -> Number {
    Some(i64::from(count) << 32)
}

/// What was announced about a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    class: Option<(&'static str, &'static str)>,
    /// Which numbers are announced and valid: a bit for each place in the policy's list. Then the
    /// words and the values of the numbers.
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
    /// Announces the class, even if it is the same as before; this voids the numbers.
    fn repeat_class(&mut self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        self.known = 0;
        if let Some((class, reason)) = self.class {
            act(Action::Classified { app, class: class.into(), reason: reason.into() });
        }
    }

    /// Announces the numbers that are valid (the bits of `known`) and have changed.
    #[inline(never)]
    fn announce_changes<const N: usize>(
        &mut self,
        app: AppId,
        known: u32,
        (words, now): (&[Word; N], &[i64; N]),
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let are_others = self.known != 0 && !self.has_words(words);
        if are_others || self.known & !known != 0 {
            self.repeat_class(app, act);
        }
        let thread = ThreadId::first_of(app);
        for (place, (&what, &raw)) in words.iter().zip(now).enumerate().take(MOST_NUMBERS) {
            self.words[place] = what;
            let is_news = self.known & 1 << place == 0 || self.numbers[place] != raw;
            if known & 1 << place != 0 && is_news {
                self.numbers[place] = raw;
                let value = Q32::from_raw(raw.max(0).unsigned_abs());
                act(Action::Estimated { thread, what: what.text().into(), value, raw });
            }
        }
        self.known = known;
    }

    /// Whether these words are its first ones. They are few, so they are compared one by one.
    #[inline(always)]
    fn has_words<const N: usize>(&self, words: &[Word; N]) -> bool {
        let mut is_same = true;
        for (own, word) in self.words.iter().zip(words) {
            is_same &= own == word;
        }
        is_same
    }

    /// The number that was announced at this place.
    const fn number(&self, place: usize) -> Number {
        if self.known & 1 << place == 0 { None } else { Some(self.numbers[place]) }
    }
}

/// Announces whatever differs from the last announcement about the running programs. It is fastest
/// if the caller visits the programs in their order.
pub(crate) struct Announcer<'a> {
    programs: &'a [RunningProgram],
    announced: &'a mut [Announced],
    /// The index of the program that is expected next.
    next: usize,
    act: &'a mut dyn FnMut(Action<'_>),
}

impl<'a> Announcer<'a> {
    /// `announced` has an entry for each program.
    pub(crate) fn new(
        programs: &'a [RunningProgram],
        announced: &'a mut [Announced],
        act: &'a mut dyn FnMut(Action<'_>),
    ) -> Self {
        Self { programs, announced, next: 0, act }
    }

    /// The programs that it announces about.
    pub(crate) const fn programs(&self) -> &'a [RunningProgram] {
        self.programs
    }

    /// Announces a program's class and reason if either is new, which voids its numbers. Returns
    /// whether either was new.
    pub(crate) fn announce_class(
        &mut self,
        app: AppId,
        class: &'static str,
        reason: &'static str,
    ) -> bool {
        let Some(index) = self.find(app) else { return false };
        let announced = &mut self.announced[index];
        let is_news = announced.class != Some((class, reason));
        if is_news {
            announced.class = Some((class, reason));
            announced.repeat_class(app, self.act);
        }
        is_news
    }

    /// Announces all numbers of a program's class. Their words (`words.rs`) always come in the same
    /// order. If a number that was announced is no longer valid, announces the class again first.
    #[inline(always)]
    pub(crate) fn announce_numbers<const N: usize>(
        &mut self,
        app: AppId,
        words: [Word; N],
        now: [Number; N],
    ) {
        const { assert!(N <= MOST_NUMBERS, "more numbers than are kept") };
        let Some(index) = self.find(app) else { return };
        let announced = &mut self.announced[index];
        let mut known = 0;
        for (place, number) in now.iter().enumerate() {
            known |= u32::from(number.is_some()) << place;
        }
        // An unknown number is compared with the one that was announced last in its place.
        let mut now = now.map(Option::unwrap_or_default);
        for (place, number) in now.iter_mut().enumerate() {
            if known & 1 << place == 0 {
                *number = announced.numbers[place];
            }
        }
        let is_same = announced.known == known
            && announced.has_words(&words)
            && announced.numbers[..N] == now;
        if !is_same {
            announced.announce_changes(app, known, (&words, &now), self.act);
        }
    }

    /// Withdraws a program's numbers that have one of these words.
    pub(crate) fn withdraw(&mut self, app: AppId, words: &[Word]) {
        let Some(index) = self.find(app) else { return };
        let announced = &mut self.announced[index];
        let gone = (0..MOST_NUMBERS).filter(|&place| words.contains(&announced.words[place]));
        let known = gone.fold(announced.known, |known, place| known & !(1 << place));
        if announced.known != known {
            let (words, now) = (announced.words, announced.numbers);
            announced.announce_changes(app, known, (&words, &now), self.act);
        }
    }

    /// The number that was last announced for a program by this word, if it is still valid.
    pub(crate) fn last_number(&mut self, app: AppId, what: Word) -> Number {
        let announced = &self.announced[self.find(app)?];
        let places = (0..MOST_NUMBERS).filter(|&place| announced.words[place] == what);
        places.filter_map(|place| announced.number(place)).next()
    }

    #[inline(always)]
    fn find(&mut self, app: AppId) -> Option<usize> {
        // A program that has just started is the last in the list.
        if self.programs.last().is_some_and(|program| program.app == app) {
            return Some(self.programs.len() - 1);
        }
        let (before, after) = self.programs.split_at(self.next.min(self.programs.len()));
        let index = match position(after, app) {
            Some(index) => before.len() + index,
            None => position(before, app)?,
        };
        self.next = index;
        Some(index)
    }
}

#[inline(always)]
fn position(programs: &[RunningProgram], app: AppId) -> Option<usize> {
    programs.iter().position(|program| program.app == app)
}

/// The class of a program under a policy that has clusters but no classes: the letter of its
/// cluster in a drawing of the plan.
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

/// A text that a policy announces. It must be static: announcing it allocates nothing.
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

    /// The announcements about one program: reasons of classes, and words of numbers.
    fn announced(
        announced: &mut Announced,
        announce: impl FnOnce(&mut Announcer<'_>),
    ) -> Vec<&'static str> {
        let mut texts = Vec::new();
        let programs = [RunningProgram { app: AppId(3), wish: Wish::default(), profile: None }];
        let mut act = |action: Action<'_>| match action {
            Action::Classified { reason, .. } => texts.push(static_text(reason)),
            Action::Estimated { what, .. } => texts.push(static_text(what)),
            _ => {}
        };
        announce(&mut Announcer::new(&programs, core::slice::from_mut(announced), &mut act));
        texts
    }

    #[test]
    fn a_class_is_announced_when_it_or_its_reason_changes() {
        let mut state = Announced::default();
        let mut class = |class, reason| {
            announced(&mut state, |announcer| _ = announcer.announce_class(AppId(3), class, reason))
                .len()
        };
        assert_eq!(
            [class("a", "x"), class("a", "x"), class("a", "y"), class("b", "y")],
            [1, 0, 1, 1]
        );
    }

    #[test]
    fn numbers_are_announced_when_they_change_and_void_when_one_is_missing() {
        let mut state = Announced::default();
        announced(&mut state, |announcer| _ = announcer.announce_class(AppId(3), "a", "x"));
        let mut numbers = |now: [Number; 2]| {
            announced(&mut state, |announcer| {
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
    fn a_withdrawn_number_is_void_and_the_others_are_announced_again() {
        let mut state = Announced::default();
        announced(&mut state, |announcer| {
            announcer.announce_class(AppId(3), "a", "x");
            announcer.announce_numbers(AppId(3), [LOOKAHEAD, SLOWDOWN], [Some(1), Some(2)]);
        });
        let mut withdraw =
            || announced(&mut state, |announcer| announcer.withdraw(AppId(3), &[SLOWDOWN]));
        assert_eq!(withdraw(), ["x", LOOKAHEAD.text()]);
        assert!(withdraw().is_empty());
    }
}
