//! What every [`Machine`](crate::Machine) needs, whatever runs on it: a queue of due events
//! ([`EventQueue`]), which puts answers to plans before anything else; the one [`Alarm`]; the plan
//! in force ([`PlanInForce`]); and windows under way ([`OpenWindow`]).

mod alarm;
mod event_queue;
mod open_window;
mod plan_in_force;

pub use alarm::Alarm;
pub use event_queue::EventQueue;
pub use open_window::OpenWindow;
pub use plan_in_force::PlanInForce;
