//! Errors, each in a line.

use std::fmt;
use std::path::PathBuf;

use fairways_core::{AppId, PartitionError};
use fairways_ledger::{LedgerError, OpenError};
use fairways_linux::errno;
use fairways_resctrl::language::LanguageError;
use rustix::io::Errno;

/// Why something could not be read or done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused.
    #[error("{doing} {}: {}{}", path.display(), name(*errno), said(status))]
    Io {
        /// The operation, with what is written if it is short.
        doing: String,
        /// The file or directory.
        path: PathBuf,
        /// The error.
        errno: Errno,
        /// The lines of `info/last_cmd_status` about it; often none.
        status: Vec<String>,
    },
    /// A file's text can't be understood.
    #[error("{}: {why}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what was expected.
        why: LanguageError,
    },
    /// Resctrl is not mounted there any longer, or another mount is.
    #[error("{}: expected the resctrl that was mounted there; it was unmounted", root.display())]
    Unmounted {
        /// Where it was.
        root: PathBuf,
    },
    /// The ledger is for another mount, which exists.
    #[error("{}: it is for the resctrl at {there}: expected that, found {}", path.display(), root.display())]
    Elsewhere {
        /// The ledger.
        path: PathBuf,
        /// Where the ledger's mount was.
        there: String,
        /// Where resctrl was opened now.
        root: PathBuf,
    },
    /// Another process replaced a group of ours by one of the same name; that one is not touched.
    #[error("{}: expected the group that was made here; another has taken its place", path.display())]
    Replaced {
        /// The group.
        path: PathBuf,
    },
    /// Another process wrote other limits to a group of ours each time that we wrote ours.
    #[error("{}: somebody else writes to it at the same time: expected managers to take the lock on the mount's root (flock)", path.display())]
    Overwritten {
        /// The file.
        path: PathBuf,
    },
    /// Another process keeps the lock on the mount's root (resctrl.rst, "Locking between
    /// applications").
    #[error("{}: locked for {seconds} s{holder}: expected other managers to hold the lock briefly", root.display())]
    Locked {
        /// The mount.
        root: PathBuf,
        /// How long it was waited for.
        seconds: u64,
        /// The process that may hold it, as `, by pqos (123)`; empty if unknown.
        holder: String,
    },
    /// Other managers use so much that nothing is left.
    #[error("{0}")]
    Busy(String),
    /// The ledger can't be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The options of the mount can't be read.
    #[error("{}: {why}: expected the options of the mount", path.display())]
    Mounts {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No such program was added.
    #[error("{0} is not managed")]
    Unknown(AppId),
}

/// The resource that a new class of service lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scarce {
    /// Class ids.
    Classes,
    /// Monitoring ids: each class needs one, as each monitoring group does.
    Monitors,
    /// The kernel does not report it.
    Unknown,
}

impl fmt::Display for Scarce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classes => "the kernel keeps the rest (mkdir: Out of CLOSIDs)",
            Self::Monitors => {
                "each takes a monitoring id (RMID), and others have the rest (mkdir: Out of RMIDs): remove monitoring groups that are not needed"
            }
            Self::Unknown => "mkdir answers ENOSPC, and the kernel does not say why",
        })
    }
}

impl Error {
    /// The kernel's error, if it is one.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        if let Self::Io { errno, .. } = self { Some(*errno) } else { None }
    }

    /// Whether the file or its group is gone.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.errno(), Some(Errno::NOENT | Errno::NODEV))
    }

    /// Whether the kernel never accepts this value.
    pub(crate) fn is_refused_value(&self) -> bool {
        let errors = [Errno::INVAL, Errno::OPNOTSUPP, Errno::PERM, Errno::ACCESS];
        self.errno().is_some_and(|errno| errors.contains(&errno))
    }

    /// The resource that a new class of service lacked, according to `info/last_cmd_status`; `None`
    /// if the error has another reason. After EBUSY, monitoring ids become free by themselves, once
    /// their lines have left the cache.
    pub(crate) fn scarce(&self) -> Option<Scarce> {
        let Self::Io { errno, status, .. } = self else { return None };
        let says = [("Out of RMIDs", Scarce::Monitors), ("Out of CLOSIDs", Scarce::Classes)];
        let said = says.into_iter().find(|(line, _)| status.iter().any(|of| of == line));
        let scarce = said.map_or(Scarce::Unknown, |(_, scarce)| scarce);
        (*errno == Errno::NOSPC).then_some(scarce)
    }

    /// Whether it failed because no class of service or no monitoring id is available now
    /// (`closid_alloc`, `alloc_rmid`).
    pub(crate) fn is_exhausted(&self) -> bool {
        matches!(self.errno(), Some(Errno::NOSPC | Errno::BUSY))
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        match error {
            Error::Busy(why) => Self::Busy(why),
            Error::Locked { .. } => Self::Busy(error.to_string()),
            Error::Elsewhere { .. } => Self::Input(error.to_string()),
            error => match error.errno() {
                Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                    let needs = "expected root, or an owner of resctrl's files";
                    Self::Permission(format!("{error}: {needs}"))
                }
                _ => Self::Other(error.into()),
            },
        }
    }
}

/// Why a plan was not carried out. The arrangement before it is in force, unless stated otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The domain can't carry it out.
    #[error("domain {domain}: {why}")]
    Partition {
        /// The domain.
        domain: u32,
        /// The rule that it breaks.
        why: PartitionError,
    },
    /// The domain does not exist, or offers nothing.
    #[error("domain {0} has no ways to offer")]
    NoDomain(u32),
    /// Others have changed what they use since the last look: look again, and make a new plan.
    #[error("other managers have changed what they hold")]
    Changed,
    /// The kernel has only this many classes of service, although it counts more: look again, and
    /// plan for that many.
    #[error("no more than {0} classes of service are available")]
    Exhausted(usize),
    /// A step failed, and those before it were undone.
    #[error("{0}")]
    Failed(Error),
    /// A step failed, and so did undoing those before it.
    #[error("{why}; not undone: {}", left.join("; "))]
    Halfway {
        /// Why the step failed.
        why: Error,
        /// What could not be undone.
        left: Vec<String>,
    },
}

/// The name of an error in errno(3); its number if no name is known.
pub(crate) fn name(errno: Errno) -> String {
    errno::name(errno).map_or_else(|| errno.to_string(), str::to_owned)
}

fn said(status: &[String]) -> String {
    if status.is_empty() { String::new() } else { format!(": {}", status.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel has one error for several shortages, and a line for each (`rdtgroup_mkdir`).
    #[test]
    fn the_kernel_s_line_says_what_is_scarce() {
        for (errno, line, scarce) in [
            (Errno::NOSPC, "Out of RMIDs", Some(Scarce::Monitors)),
            (Errno::BUSY, "Out of RMIDs", None),
            (Errno::NOSPC, "Out of CLOSIDs", Some(Scarce::Classes)),
            (Errno::NOSPC, "", Some(Scarce::Unknown)),
            (Errno::NOSPC, "Out of something", Some(Scarce::Unknown)),
            (Errno::BUSY, "", None),
            (Errno::ACCESS, "Out of RMIDs", None),
        ] {
            let status = vec![line.to_owned()];
            let (doing, path) = ("mkdir".to_owned(), PathBuf::new());
            let error = Error::Io { doing, path, errno, status };
            assert_eq!(error.scarce(), scarce, "{errno} {line}");
        }
    }
}
