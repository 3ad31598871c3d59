//! The rules, compared with the kernel's documentation and sources, and with a kernel's answers.

mod client;
mod corpus;
mod counters;
mod cpus;
mod energy;
mod files;
mod groups;
mod io_alloc;
mod kernels;
mod l2;
mod lab;
mod masks;
mod monitoring;
mod mounting;
mod nodes;
mod random;
mod renaming;
mod schemata;
mod shell;
mod sound;
mod tasks;
