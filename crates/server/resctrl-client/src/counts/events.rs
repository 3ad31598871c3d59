//! The hardware's counts of one group: a program's own, or one that is read with it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use fairways_resctrl::language::{LanguageError, Reading};
use rustix::io::{pread, retry_on_intr};

use crate::tree::Tree;
use crate::tree::mon_data::{COUNTED, CountedPlace, OCCUPANCY};

/// A program's event files, kept open.
#[derive(Debug, Default)]
pub(crate) struct Events {
    of: Vec<DomainEvents>,
}

/// The files of one place.
#[derive(Debug)]
struct DomainEvents {
    place: CountedPlace,
    occupancy: Option<OwnedFd>,
    memory: Option<OwnedFd>,
    /// The counter's last value in bytes; `None` if it was not read since the group or the counter
    /// was replaced.
    last: Option<u64>,
    /// The bytes moved since the program was first monitored.
    moved: u64,
    /// Whether a counter was ever read, of an earlier group too.
    has_counted: bool,
    /// Whether there is a gap in the counts after the last of them.
    gap: bool,
    /// Whether the last reading was missing only because of such a gap.
    resumed: bool,
}

impl DomainEvents {
    const fn new(place: CountedPlace) -> Self {
        Self {
            place,
            occupancy: None,
            memory: None,
            last: None,
            moved: 0,
            has_counted: false,
            gap: false,
            resumed: false,
        }
    }

    /// Takes in the counter's value. Returns whether the bytes since the last reading are known.
    fn take(&mut self, bytes: u64) -> bool {
        let (moved, is_known) = match self.last {
            Some(last) if bytes >= last => (bytes - last, true),
            // For example, the domain went off line and returned, and its counters restarted.
            Some(last) if bytes <= last / 8 && bytes <= NEAR_ZERO => (bytes, true),
            // Counters never decrease: one of the two readings was wrong.
            Some(_) => (0, false),
            None if bytes <= NEAR_ZERO => (bytes, true),
            // The monitoring id still has the counts of the group that had it before.
            None => (0, !self.has_counted),
        };
        self.moved = self.moved.saturating_add(moved);
        (self.last, self.has_counted) = (Some(bytes), true);
        is_known
    }
}

/// The highest value, 4 GiB, of a counter that may have restarted since the last reading.
const NEAR_ZERO: u64 = 1 << 32;

impl Events {
    fn of(&mut self, place: CountedPlace) -> &mut DomainEvents {
        let at = self.of.iter().position(|of| of.place == place).unwrap_or_else(|| {
            self.of.push(DomainEvents::new(place));
            self.of.len() - 1
        });
        &mut self.of[at]
    }

    /// Bytes of a place's cache that the program occupies. `group` returns its MON group's path,
    /// and is called only if the file must be opened.
    pub(crate) fn occupancy(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let file = &mut self.of(place).occupancy;
        read(tree, file, || place.files(tree, &group(), OCCUPANCY), Reading::parse)
    }

    /// Bytes that the program has moved since it was first monitored; they never decrease. The
    /// first reading after a gap is `Unassigned`, as a window that began before it has no complete
    /// count. A reading below the last one is `Unavailable`, unless the counter has restarted.
    pub(crate) fn memory(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let of = self.of(place);
        let paths = || place.files(tree, &group(), COUNTED);
        let reading = read(tree, &mut of.memory, paths, Reading::parse);
        of.resumed = reading.value().is_some() && of.gap;
        of.gap = false;
        match reading {
            Reading::Value(bytes) => match (of.take(bytes), of.resumed) {
                (_, true) => Reading::Unassigned,
                (false, false) => Reading::Unavailable,
                (true, false) => Reading::Value(of.moved),
            },
            missing => missing,
        }
    }

    /// No window that is under way has a whole count. Counters that began again are seen by that.
    pub(crate) fn distrust(&mut self) {
        self.of.iter_mut().for_each(|of| of.gap = true);
    }

    /// Records that the counter of a place is gone, and the next one begins at 0.
    pub(crate) fn interrupt(&mut self, place: CountedPlace) {
        let of = self.of(place);
        of.last = None;
        of.gap = true;
    }

    /// Whether the last reading of a place was missing only because of a gap.
    pub(crate) fn has_resumed(&self, place: CountedPlace) -> bool {
        self.of.iter().any(|of| of.place == place && of.resumed)
    }

    /// Records that the MON group is a new one, whose counters begin at 0.
    pub(crate) fn restart(&mut self) {
        self.of.iter_mut().for_each(|of| of.last = None);
        self.close();
    }

    /// Closes the files, which keep the mount busy.
    pub(crate) fn close(&mut self) {
        for of in &mut self.of {
            of.occupancy = None;
            of.memory = None;
        }
    }
}

/// The counts of a group since it was first read.
#[derive(Debug, Default)]
pub(crate) struct AddedCounts {
    events: Events,
    /// Its traffic when it was first read, by place.
    before: BTreeMap<CountedPlace, u64>,
    /// The traffic since then, as last read.
    last: BTreeMap<CountedPlace, u64>,
}

impl AddedCounts {
    /// The bytes that it occupies in a place. `group` returns its path, and is called only if a
    /// file must be opened.
    pub(crate) fn occupancy(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        self.events.occupancy(tree, group, place)
    }

    /// The bytes that it has moved through a place since it was first read there.
    pub(crate) fn memory(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let Self { events, before, last } = self;
        match events.memory(tree, group, place) {
            Reading::Value(bytes) => {
                let before = *before.entry(place).or_insert(bytes);
                let bytes = bytes.saturating_sub(before);
                last.insert(place, bytes);
                Reading::Value(bytes)
            }
            missing => missing,
        }
    }

    /// Marks the open windows as incomplete.
    pub(crate) fn distrust(&mut self) {
        self.events.distrust();
    }

    /// Reads its traffic a last time. Returns its counts by place; if a place can't be read any
    /// longer, its last value.
    pub(crate) fn end(
        mut self,
        tree: &Tree,
        group: impl Fn() -> String,
    ) -> BTreeMap<CountedPlace, u64> {
        for place in self.last.keys().copied().collect::<Vec<_>>() {
            self.memory(tree, &group, place);
        }
        self.so_far()
    }

    /// Its traffic since it was first read, by place, as last read.
    pub(crate) fn so_far(self) -> BTreeMap<CountedPlace, u64> {
        self.last
    }
}

/// Reads an open file, or the first of the paths that exists, with one pread(2). If the file is
/// gone, opens it once more: its domain may have gone and returned.
pub(crate) fn read(
    tree: &Tree,
    file: &mut Option<OwnedFd>,
    paths: impl Fn() -> Vec<String>,
    parse: fn(&str) -> Result<Reading, LanguageError>,
) -> Reading {
    for _ in 0..2 {
        let open = match file {
            Some(open) => open,
            None => match open_first(tree, &paths()) {
                Ok(open) => file.insert(open),
                Err(missing) => return missing,
            },
        };
        let mut bytes = [0; 32];
        if let Ok(got) = retry_on_intr(|| pread(&*open, &mut bytes, 0)) {
            let text = std::str::from_utf8(&bytes[..got]).unwrap_or_default();
            return parse(text).unwrap_or_else(|why| {
                tracing::error!(target: "fairways::actuate", path = ?paths(), %why, "event misread");
                Reading::Error
            });
        }
        *file = None;
    }
    Reading::Unavailable
}

/// Opens the first file that exists; otherwise returns the reading that stands for it.
fn open_first(tree: &Tree, paths: &[String]) -> Result<OwnedFd, Reading> {
    for path in paths {
        match tree.file(path) {
            Ok(file) => return Ok(file),
            Err(error) if error.is_gone() => {}
            Err(error) => {
                tracing::warn!(target: "fairways::actuate", %error, "event can't be read");
                return Err(Reading::Error);
            }
        }
    }
    Err(Reading::Unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes in readings in a row; returns for each whether it is known, and the bytes moved until
    /// then.
    fn take(of: &mut DomainEvents, readings: &[u64]) -> Vec<(bool, u64)> {
        readings.iter().map(|&bytes| (of.take(bytes), of.moved)).collect()
    }

    fn new() -> DomainEvents {
        DomainEvents::new(CountedPlace { cache: 0, node: None })
    }

    #[test]
    fn a_step_back_is_missing_and_moves_nothing() {
        const HIGH: u64 = 100_000_000_000_000;
        for (step, last) in [(64, HIGH), (1, 5000), (HIGH / 2, HIGH), (1 << 30, 3 << 30)] {
            let mut of = new();
            let seen = take(&mut of, &[last - 10, last, last - step, last + 7]);
            assert_eq!([seen[1].0, seen[2].0, seen[3].0], [true, false, true], "{step} of {last}");
            let moved = [seen[1], seen[2], seen[3]].map(|(_, moved)| moved);
            assert_eq!([moved[1] - moved[0], moved[2] - moved[1]], [0, step + 7]);
        }
    }

    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let mut of = new();
        let seen = take(&mut of, &[1_000_000, 9_000_000_000, 0, 5000, 6000]);
        assert!(seen.iter().all(|(is_known, _)| *is_known), "{seen:?}");
        assert_eq!(of.moved, 9_000_006_000);
    }

    /// An id keeps the counts of its previous group; only a new group's count is known to begin
    /// there.
    #[test]
    fn a_new_group_moves_what_it_counts_from_near_zero_on() {
        let mut of = new();
        assert_eq!(take(&mut of, &[1 << 50, (1 << 50) + 5]), [(true, 0), (true, 5)]);
        of.last = None;
        assert_eq!(take(&mut of, &[300, 400]), [(true, 305), (true, 405)]);
        of.last = None;
        let seen = take(&mut of, &[1 << 40, (1 << 40) + 1]);
        assert_eq!(seen, [(false, 405), (true, 406)], "what it moved meanwhile is not known");
    }
}
