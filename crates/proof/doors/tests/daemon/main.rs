//! The daemon as its service manager, its administrator and attackers see it, on the emulator.

#![allow(clippy::unwrap_used)]

mod apart;
mod blamed;
mod buckets;
mod claimed;
mod common;
mod counted;
mod exec;
mod imported;
mod journals;
mod killed;
mod lacking;
mod left_behind;
mod notify;
mod observed;
mod platforms;
mod redis;
mod refused;
mod requests;
mod running;
mod scanned;
mod silent;
mod times;
mod tried;
mod unmatched;
mod unseen;
mod warm;
mod week;
