//! Exit codes beyond success (0) and failure (1); README.md lists them.

/// Bad usage or bad input.
pub(crate) const USAGE: u8 = 2;
/// This host cannot be managed: its hardware, its kernel or resctrl's mount is missing.
pub(crate) const NOT_SUPPORTED: u8 = 3;
/// Others hold what would be managed.
pub(crate) const BUSY: u8 = 4;
/// This process may not.
pub(crate) const PERMISSION: u8 = 5;
/// SIGINT or SIGTERM, after all was put in order.
pub(crate) const INTERRUPTED: u8 = 130;

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 bad usage or bad input, 3 this host is not supported, 4 others hold its cache, 5 no permission, \
130 interrupted";
