//! Configurations that others can write, or that never end.
