//! [Policies by name](policies): those that are built in, and those that are programs of their own,
//! in any language.
//!
//! `exec:COMMAND` names a program. It reads JSON lines and answers each with one line
//! (docs/exec.md): it describes itself, then gets events in the journal's form, and answers with
//! actions. Nothing that it does can stop its machine: [`ExecPolicy`] bounds the time and the
//! length of an answer, checks every action, starts a failed program again with a bound, and
//! otherwise leaves the last plan in force.

mod answer;
mod check;
mod confined;
mod connection;
mod describe;
mod exec;
mod faults;
mod growing;
mod parameters;
mod plans;
pub mod policies;
mod present;
mod start;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fairways_policy::Descriptor;

pub use answer::AnswerChecks;
pub use confined::{CONFINED, KEEPER, confine, keep};
pub use exec::ExecPolicy;
pub use faults::faults;
pub use growing::GrowingList;
pub use parameters::json_of;

use confined::ConfinedStart;
use describe::DescribedProgram;
use start::{DirectStart, ProgramStart};

/// What the name of a policy that is a program begins with; its command follows.
pub const PREFIX: &str = "exec:";

/// The programs that have described themselves. They are kept for as long as the process runs, like
/// the table of the policies that are compiled in.
static DESCRIBED: GrowingList<DescribedProgram> = GrowingList::new();

/// The table's entry for the policy with this name, if it is compiled in, or is a program that
/// [`described`] has asked.
#[must_use]
pub fn descriptor(name: &str) -> Option<&'static Descriptor> {
    fairways_policy::descriptor(name).or_else(|| {
        DESCRIBED.find(|program| program.name == name).map(DescribedProgram::descriptor)
    })
}

/// The policies of this process whose programs are not started again, a line each. Looks whether
/// the processes that guard them are still there, and ends what those that are not have left.
#[must_use]
pub fn given_up() -> Vec<String> {
    let mut lines = confined::ended_keepers();
    lines.extend(faults::failing());
    lines
}

/// Asks the program of a policy to describe itself, the first time. `confined`: it is started
/// without rights, now and later; otherwise as a child of this process, with its rights.
///
/// # Errors
/// If it can't be started, or does not describe itself: what went wrong, in a line.
pub fn described(name: &str, confined: bool) -> Result<&'static Descriptor, String> {
    if let Some(known) = descriptor(name) {
        return Ok(known);
    }
    let described = ask(name, confined).map_err(|why| format!("{name}: {why}"))?;
    Ok(DESCRIBED.find_or_add(|program| program.name == name, described).descriptor())
}

fn ask(name: &str, confined: bool) -> Result<DescribedProgram, String> {
    let command = name.strip_prefix(PREFIX).unwrap_or(name);
    let start: Arc<dyn ProgramStart> = match confined {
        true => Arc::new(ConfinedStart::new(command)?),
        false => Arc::new(DirectStart::new(command)?),
    };
    describe::ask(name, start).map_err(|why| why.to_string())
}
