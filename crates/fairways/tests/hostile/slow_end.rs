//! SIGTERM while operations of resctrl are slow.
