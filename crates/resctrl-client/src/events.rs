//! The hardware's counts of one program.

use std::os::fd::OwnedFd;

use fairways_resctrl::language::Reading;
use rustix::io::{pread, retry_on_intr};

use super::places::CountedPlace;
use super::tree::Tree;

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
}

impl Events {
    fn of(&mut self, place: CountedPlace) -> &mut DomainEvents {
        let at = self.of.iter().position(|of| of.place == place).unwrap_or_else(|| {
            let new = DomainEvents { place, occupancy: None, memory: None, last: 0, before: 0 };
            self.of.push(new);
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
        read(tree, file, || place.files(tree, &group(), "llc_occupancy"))
    }

    /// Bytes that the program has moved since it was first monitored, which never get fewer.
    pub(super) fn memory(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let of = self.of(place);
        match read(tree, &mut of.memory, || place.files(tree, &group(), "mbm_total_bytes")) {
            Reading::Value(bytes) => {
                if bytes < of.last {
                    // The domain went and returned, for example, and its counters began again.
                    of.before = of.before.saturating_add(of.last);
                }
                of.last = bytes;
                Reading::Value(of.before.saturating_add(bytes))
            }
            missing => missing,
        }
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
fn read(tree: &Tree, file: &mut Option<OwnedFd>, paths: impl Fn() -> Vec<String>) -> Reading {
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
            return Reading::parse(text).unwrap_or_else(|why| {
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
            Err(error) if error.is_gone() => {}
            opened => return opened.map_err(|_| Reading::Error),
        }
    }
    Err(Reading::Unavailable)
}
