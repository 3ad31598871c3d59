//! Counts of the client itself, for metrics.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::error::{Error, Refused, name};

/// How the ids of a kind are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// This client's.
    pub used: u64,
    /// The root's, and other managers'.
    pub others: u64,
    /// Not in use.
    pub free: u64,
}

impl Ids {
    /// The counts, of `all` ids.
    pub(crate) fn new(all: u64, used: u64, others: u64) -> Self {
        Self { used, others, free: all.saturating_sub(used + others) }
    }
}

/// How often operations failed, by the name of the error number, or by a word if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(BTreeMap<String, u64>);

impl Errors {
    /// How often each error occurred, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Counts an error of resctrl's.
    pub(crate) fn came(&mut self, error: &Error) {
        let word = match error {
            Error::Io { errno, .. } => return self.one(name(*errno)),
            Error::Text { .. } => "text",
            Error::Unmounted { .. } => "unmounted",
            Error::Replaced { .. } => "replaced",
            Error::Overwritten { .. } => "overwritten",
            Error::Locked { .. } => "locked",
            Error::Busy(_) => "busy",
            Error::Ledger(_) | Error::Elsewhere { .. } => "ledger",
            Error::Mounts { .. } => "mounts",
            Error::Unknown(_) => "unknown",
        };
        self.one(word.to_owned());
    }

    /// Counts the reason of a failed plan, if it was an error.
    pub(crate) fn refused(&mut self, why: &Refused) {
        match why {
            Refused::Failed(error) | Refused::Halfway { why: error, .. } => self.came(error),
            Refused::Exhausted(_) => self.came_from_system(&Errno::NOSPC.into()),
            Refused::Partition { .. } | Refused::NoDomain(_) | Refused::Changed => {}
        }
    }

    /// Counts an error of the system; one without an error number counts as `unknown`.
    pub fn came_from_system(&mut self, error: &std::io::Error) {
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        self.one(errno.map_or_else(|| "unknown".to_owned(), name));
    }

    fn one(&mut self, name: String) {
        *self.0.entry(name).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_name() {
        let mut errors = Errors::default();
        errors.came_from_system(&Errno::SRCH.into());
        errors.came_from_system(&Errno::SRCH.into());
        errors.came_from_system(&std::io::Error::other("no number"));
        errors.came(&Error::Busy(String::new()));
        let counts: Vec<_> = errors.iter().collect();
        assert_eq!(counts, [("ESRCH", 2), ("busy", 1), ("unknown", 1)]);
    }

    #[test]
    fn ids_are_never_fewer_than_none() {
        assert_eq!(Ids::new(16, 3, 2), Ids { used: 3, others: 2, free: 11 });
        assert_eq!(Ids::new(4, 3, 2).free, 0);
    }
}
