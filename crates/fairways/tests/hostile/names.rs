//! Programs that take another program's name.
