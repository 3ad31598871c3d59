//! What is counted of the client itself, for metrics.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::actuator::Actuator;
use super::error::name;
use super::error::{Error, Refused};

/// Whose the ids of a kind are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// This client's.
    pub used: u64,
    /// The root's, and other managers'.
    pub others: u64,
    /// Nobody's.
    pub free: u64,
}

/// What was to be done and could not be: how often, by the name of its error number, or by a word where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(BTreeMap<String, u64>);

impl Errors {
    /// How often each came, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// One of resctrl's came.
    pub(super) fn came(&mut self, error: &Error) {
        let word = match error {
            Error::Io { errno, .. } => return self.one(name(*errno)),
            Error::Text { .. } => "text",
            Error::Unmounted { .. } => "unmounted",
            Error::Replaced { .. } => "replaced",
            Error::Locked { .. } => "locked",
            Error::Busy(_) => "busy",
            Error::State { .. } | Error::Elsewhere { .. } => "ledger",
            Error::Unknown(_) => "unknown",
        };
        self.one(word.to_owned());
    }

    /// One of the system's came.
    pub(crate) fn came_from_system(&mut self, error: &std::io::Error) {
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        self.one(errno.map_or_else(|| "unknown".to_owned(), name));
    }

    fn one(&mut self, name: String) {
        *self.0.entry(name).or_default() += 1;
    }
}

impl Actuator {
    /// Classes of service: those of every domain, for a task has one for all.
    #[must_use]
    pub fn closids(&self) -> Ids {
        let (all, offered) = (self.survey.closids.into(), u64::from(self.offers.classes));
        shared(all, self.classes.len() as u64, u64::saturating_sub(all, offered))
    }

    /// Monitoring ids; `None` where this host has none. Those that the kernel keeps back until their lines are gone are nobody's: it
    /// does not tell them apart.
    #[must_use]
    pub fn rmids(&self) -> Option<Ids> {
        let monitored = self.programs.values().filter(|program| program.monitored).count();
        let others = 1 + self.survey.foreign.len() + self.survey.monitors.len();
        let used = monitored + self.classes.len();
        let all = self.survey.monitoring.as_ref()?.rmids;
        Some(shared(all.into(), used as u64, others as u64))
    }

    /// What could not be done: plans, masks, monitoring groups, removals. What was tried again counts again.
    #[must_use]
    pub const fn errors(&self) -> &Errors {
        &self.errors
    }

    /// Counts what could not be done.
    pub(crate) fn erred(&mut self, error: &Error) {
        self.errors.came(error);
    }

    /// Counts why a plan could not be carried out, if that was an error.
    pub(super) fn refused(&mut self, why: &Refused) {
        match why {
            Refused::Failed(error) | Refused::Halfway { why: error, .. } => self.erred(error),
            Refused::Exhausted(_) => self.errors.came_from_system(&Errno::NOSPC.into()),
            Refused::Partition { .. } | Refused::NoDomain(_) | Refused::Changed => {}
        }
    }
}

fn shared(all: u64, used: u64, others: u64) -> Ids {
    Ids { used, others, free: all.saturating_sub(used + others) }
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
        let told: Vec<_> = errors.iter().collect();
        assert_eq!(told, [("ESRCH", 2), ("busy", 1), ("unknown", 1)]);
    }

    #[test]
    fn ids_are_never_fewer_than_none() {
        assert_eq!(shared(16, 3, 2), Ids { used: 3, others: 2, free: 11 });
        assert_eq!(shared(4, 3, 2).free, 0);
    }
}
