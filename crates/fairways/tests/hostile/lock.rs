//! A neighbor that holds the lock of resctrl can't end the daemon or keep it from restoring.
