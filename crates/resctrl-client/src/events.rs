//! The hardware's counts of one program.

use std::os::fd::OwnedFd;

use fairways_resctrl::language::{LanguageError, Reading};
use rustix::io::{pread, retry_on_intr};

use super::counter_turns::COUNTED;
use super::places::CountedPlace;
use super::tree::Tree;

/// The event of occupied bytes.
pub(super) const OCCUPANCY: &str = "llc_occupancy";

/// A program's event files, kept open.
#[derive(Debug, Default)]
pub(super) struct Events {
    of: Vec<DomainEvents>,
}

/// The files of one place.
#[derive(Debug)]
struct DomainEvents {
    place: CountedPlace,
    occupancy: Option<OwnedFd>,
    memory: Option<OwnedFd>,
    /// The bytes moved, as the counter showed last.
    last: u64,
    /// The bytes moved, as counters before this one showed.
    before: u64,
    /// Whether there is a gap in the counts after the last of them.
    gap: bool,
    /// Whether the last reading was missing for such a gap alone.
    resumed: bool,
}

impl DomainEvents {
    const fn new(place: CountedPlace) -> Self {
        let (occupancy, memory) = (None, None);
        Self { place, occupancy, memory, last: 0, before: 0, gap: false, resumed: false }
    }
}

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
    pub(super) fn occupancy(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let file = &mut self.of(place).occupancy;
        read(tree, file, || place.files(tree, &group(), OCCUPANCY), Reading::parse)
    }

    /// Bytes that the program has moved since it was first monitored, which never get fewer. The
    /// first reading after a gap is `Unassigned`: a window that began before has no whole count.
    pub(super) fn memory(
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
            Reading::Value(bytes) => {
                if bytes < of.last {
                    // The domain went and returned, for example, and its counters began again.
                    of.before = of.before.saturating_add(of.last);
                }
                of.last = bytes;
                match of.resumed {
                    true => Reading::Unassigned,
                    false => Reading::Value(of.before.saturating_add(bytes)),
                }
            }
            missing => missing,
        }
    }

    /// No window that is under way has a whole count. Counters that began again are seen by that.
    pub(super) fn distrust(&mut self) {
        self.of.iter_mut().for_each(|of| of.gap = true);
    }

    /// The counter of a place is gone, and the next one begins at 0.
    pub(super) fn interrupt(&mut self, place: CountedPlace) {
        let of = self.of(place);
        of.before = of.before.saturating_add(of.last);
        of.last = 0;
        of.gap = true;
    }

    /// Whether the last reading of a place was missing only because of a gap before it.
    pub(super) fn has_resumed(&self, place: CountedPlace) -> bool {
        self.of.iter().any(|of| of.place == place && of.resumed)
    }

    /// The MON group is another from now on, whose counters begin at 0.
    pub(super) fn restart(&mut self) {
        for of in &mut self.of {
            of.before = of.before.saturating_add(of.last);
            of.last = 0;
        }
        self.close();
    }

    /// Closes the files, which keep the mount busy.
    pub(super) fn close(&mut self) {
        for of in &mut self.of {
            of.occupancy = None;
            of.memory = None;
        }
    }
}

/// One pread(2) of an open file: the first of the paths at which there is one. If the file is gone,
/// it is opened once more: its domain may have gone and returned.
pub(super) fn read(
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

/// Opens the first file that is there; otherwise, the reading that stands for it.
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
