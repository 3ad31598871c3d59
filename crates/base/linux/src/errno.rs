//! Names of errors (errno(3)).

use rustix::io::Errno;

/// Errors from files and from watching programs, and those that an emulator can be made to return.
const NAMES: [(Errno, &str); 28] = [
    (Errno::PERM, "EPERM"),
    (Errno::NOENT, "ENOENT"),
    (Errno::SRCH, "ESRCH"),
    (Errno::INTR, "EINTR"),
    (Errno::IO, "EIO"),
    (Errno::NXIO, "ENXIO"),
    (Errno::TOOBIG, "E2BIG"),
    (Errno::BADF, "EBADF"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::ACCESS, "EACCES"),
    (Errno::BUSY, "EBUSY"),
    (Errno::EXIST, "EEXIST"),
    (Errno::XDEV, "EXDEV"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::NFILE, "ENFILE"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::ROFS, "EROFS"),
    (Errno::RANGE, "ERANGE"),
    (Errno::NOSYS, "ENOSYS"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::NOTCONN, "ENOTCONN"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
    (Errno::STALE, "ESTALE"),
];

/// The name of an error; `None` if it is not known here.
#[must_use]
pub fn name(errno: Errno) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == errno).map(|&(_, name)| name)
}

/// The error with a name; `None` if it is not known here.
#[must_use]
pub fn from_name(name: &str) -> Option<Errno> {
    NAMES.iter().find(|(_, known)| *known == name).map(|&(errno, _)| errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_it_is_written() {
        for (errno, text) in NAMES {
            assert_eq!((name(errno), from_name(text)), (Some(text), Some(errno)));
        }
        assert_eq!((name(Errno::from_raw_os_error(4000)), from_name("EWHAT")), (None, None));
    }
}
