//! Counts of packages for programs: energy and activity of cores (`mon_data/mon_PERF_PKG_*`, since
//! Linux 7.0). Packages and events are listed by the kernel, and not known by name.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use fairways_resctrl::language::Reading;

use super::events::read;
use crate::error::Error;
use crate::tree::{Tree, of};

/// The events that are reported.
const REPORTED: [&str; 2] = ["core_energy", "activity"];

/// The prefix of packages' folders in `mon_data`.
const PACKAGE: &str = "mon_PERF_PKG_";

/// The counts of all packages for a program since it was first monitored; `None` if they are not
/// counted, or can't be read now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageCounts {
    /// Microjoules that cores used for it (`core_energy`).
    pub core_energy_uj: Option<u64>,
    /// Its activity on cores, whatever their frequency and voltage, in microfarads (`activity`).
    pub activity_uf: Option<u64>,
}

/// A program's files, kept open, by event and package.
#[derive(Debug, Default)]
pub(crate) struct PackageFiles {
    of: BTreeMap<(String, String), PackageFile>,
}

#[derive(Debug, Default)]
struct PackageFile {
    file: Option<OwnedFd>,
    /// The last value; `None` before the first. A monitoring id still has the counts of the group
    /// that had it before.
    last: Option<u64>,
    counted: u64,
    /// Whether the value is missing now, or impossible, after it was known once.
    missing: bool,
}

impl PackageFile {
    /// Whether it ever had a value, for an earlier group too.
    fn is_known(&self) -> bool {
        self.last.is_some() || self.counted > 0
    }

    fn take(&mut self, reading: Reading) {
        self.missing = self.is_known() && reading.value().is_none();
        let Some(now) = reading.value() else { return };
        if let Some(last) = self.last {
            let counted = match now.checked_sub(last) {
                Some(counted) => Some(counted),
                // The count has restarted.
                None if now <= last / 8 => Some(now),
                // Counters never decrease: one of the two readings was wrong.
                None => None,
            };
            self.missing = counted.is_none();
            self.counted = self.counted.saturating_add(counted.unwrap_or(0));
        }
        self.last = Some(now);
    }
}

impl PackageFiles {
    /// Reads those of these events that are reported, for these packages. The kernel also lists
    /// events that cores count.
    pub(crate) fn read(
        &mut self,
        tree: &Tree,
        group: &str,
        events: &[String],
        packages: &[String],
    ) {
        for event in events.iter().filter(|event| REPORTED.contains(&event.as_str())) {
            for package in packages {
                let of_event = self.of.entry((event.clone(), package.clone())).or_default();
                let reading = read(
                    tree,
                    &mut of_event.file,
                    || vec![of(group, &format!("mon_data/{package}/{event}"))],
                    Reading::parse_millionths,
                );
                of_event.take(reading);
            }
        }
    }

    /// The sum over packages. A package that never had a value counted nothing of the program.
    fn sum(&self, event: &str) -> Option<u64> {
        let files = self.of.iter().filter(|((name, _), _)| name == event).map(|(_, file)| file);
        let files: Vec<_> = files.filter(|file| file.is_known()).collect();
        if files.is_empty() || files.iter().any(|file| file.missing) {
            return None;
        }
        Some(files.iter().map(|file| file.counted).fold(0, u64::saturating_add))
    }

    /// Records that the group is a new one.
    pub(crate) fn restart(&mut self) {
        for file in self.of.values_mut() {
            (file.file, file.last) = (None, None);
        }
    }

    /// Closes the files, which keep the mount busy.
    pub(crate) fn close(&mut self) {
        self.of.values_mut().for_each(|file| file.file = None);
    }

    pub(crate) fn counts(&self) -> PackageCounts {
        let [core_energy_uj, activity_uf] = REPORTED.map(|event| self.sum(event));
        PackageCounts { core_energy_uj, activity_uf }
    }
}

/// The packages that are listed for the root's group; none without such events.
pub(crate) fn packages(tree: &Tree, events: &[String]) -> Result<Vec<String>, Error> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = tree.directories("mon_data")?;
    names.retain(|name| name.starts_with(PACKAGE));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(readings: &[&[Reading]]) -> Option<u64> {
        let mut files = PackageFiles::default();
        for (package, readings) in readings.iter().enumerate() {
            let key = ("core_energy".to_owned(), package.to_string());
            let file = files.of.entry(key).or_default();
            readings.iter().for_each(|reading| file.take(*reading));
        }
        files.sum("core_energy")
    }

    #[test]
    fn counts_begin_with_the_program_and_a_missing_one_leaves_no_sum() {
        use Reading::{Error, Unavailable, Value};
        assert_eq!(files(&[&[Value(70), Value(75)], &[Unavailable, Unavailable]]), Some(5));
        assert_eq!(files(&[&[Value(70), Value(75), Value(3)]]), Some(8), "it began again");
        assert_eq!(files(&[&[Value(70), Value(75)], &[Value(1), Error]]), None);
        assert_eq!(files(&[&[Value(70), Value(75), Value(74)]]), None, "it can't step back");
        assert_eq!(files(&[&[Value(70), Value(75), Value(74), Value(76)]]), Some(7));
        assert_eq!(files(&[&[Value(70), Error, Value(75)]]), Some(5));
        assert_eq!(files(&[&[Unavailable]]), None, "never 0");
    }

    /// With a new group, a package that had counted before still belongs to the sum.
    #[test]
    fn a_sum_never_falls() {
        fn take(files: &mut PackageFiles, package: &str, reading: Reading) {
            let key = ("core_energy".to_owned(), package.to_owned());
            files.of.entry(key).or_default().take(reading);
        }
        let mut files = PackageFiles::default();
        for (package, reading) in [("0", 70), ("1", 50), ("0", 75), ("1", 58)] {
            take(&mut files, package, Reading::Value(reading));
        }
        assert_eq!(files.sum("core_energy"), Some(13));
        files.restart();
        take(&mut files, "0", Reading::Value(3));
        take(&mut files, "1", Reading::Unavailable);
        assert_eq!(files.sum("core_energy"), None);
        take(&mut files, "1", Reading::Value(1));
        assert_eq!(files.sum("core_energy"), Some(13));
    }
}
