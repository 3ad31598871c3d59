//! The kernel's errors.

/// Why the kernel refuses; the numbers are those of Linux on x86 and Arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}: {}", self.name(), self.text())]
#[repr(i32)]
pub enum Errno {
    /// Not allowed.
    Eperm = 1,
    /// No such file.
    Enoent = 2,
    /// No such thread.
    Esrch = 3,
    /// A write of more than a page.
    E2big = 7,
    /// Permissions of the file forbid it.
    Eacces = 13,
    /// In use, or not yet free.
    Ebusy = 16,
    /// The file exists already.
    Eexist = 17,
    /// The file or its group is gone.
    Enodev = 19,
    /// Not a directory.
    Enotdir = 20,
    /// A directory.
    Eisdir = 21,
    /// Bad input.
    Einval = 22,
    /// No class, id or way left.
    Enospc = 28,
    /// A number too large for its type.
    Erange = 34,
    /// A directory that is not empty.
    Enotempty = 39,
    /// A number too large to read.
    Eoverflow = 75,
}

impl Errno {
    /// The number in errno.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The name in errno.h.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eperm => "EPERM",
            Self::Enoent => "ENOENT",
            Self::Esrch => "ESRCH",
            Self::E2big => "E2BIG",
            Self::Eacces => "EACCES",
            Self::Ebusy => "EBUSY",
            Self::Eexist => "EEXIST",
            Self::Enodev => "ENODEV",
            Self::Enotdir => "ENOTDIR",
            Self::Eisdir => "EISDIR",
            Self::Einval => "EINVAL",
            Self::Enospc => "ENOSPC",
            Self::Erange => "ERANGE",
            Self::Enotempty => "ENOTEMPTY",
            Self::Eoverflow => "EOVERFLOW",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Eperm => "operation not permitted",
            Self::Enoent => "no such file or directory",
            Self::Esrch => "no such process",
            Self::E2big => "argument list too long",
            Self::Eacces => "permission denied",
            Self::Ebusy => "device or resource busy",
            Self::Eexist => "file exists",
            Self::Enodev => "no such device",
            Self::Enotdir => "not a directory",
            Self::Eisdir => "is a directory",
            Self::Einval => "invalid argument",
            Self::Enospc => "no space left on device",
            Self::Erange => "numerical result out of range",
            Self::Enotempty => "directory not empty",
            Self::Eoverflow => "value too large for defined data type",
        }
    }
}
