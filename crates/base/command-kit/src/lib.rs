//! What every command of Fairways shares: how it ends ([`exit`]), what it writes on a terminal
//! ([`plain`], [`table`], [`partition`]) and into files ([`whole`]), and what its flags and files
//! say ([`input`], [`objective`]).

pub mod exit;
pub mod input;
pub mod moment;
pub mod objective;
pub mod partition;
pub mod plain;
mod signals;
pub mod similar;
pub mod table;
pub mod whole;

pub use exit::{BadInput, ExitCode, Interrupted, fail, warn};
pub use signals::stop_on_signals;
