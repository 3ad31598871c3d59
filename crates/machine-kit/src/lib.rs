//! What every [`Machine`](fairways_core::Machine) needs, whatever runs on it: a queue of what is
//! due ([`Due`]), which tells answers to plans before anything else; the one [`Alarm`]; the
//! plan in force ([`InForce`]); and windows under way ([`Window`]).
//!
//! A machine without a memory-bandwidth lever answers that a limit is not there, and refuses
//! nothing for it.

mod alarm;
mod due;
mod in_force;
mod window;

pub use alarm::Alarm;
pub use due::Due;
pub use in_force::InForce;
pub use window::Window;
