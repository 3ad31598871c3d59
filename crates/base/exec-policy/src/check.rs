//! Which actions of a program reach its machine.

use std::time::Duration;

use fairways_core::{Action, Time, WindowLength, plain};

use crate::present::Present;

/// The most actions in an answer.
const MOST_ACTIONS: usize = 10_000;

/// The longest text, in bytes: a reason or a class, a line for people.
pub(crate) const LONGEST_TEXT: usize = 1000;

/// The least time that a program may be woken after, in nanoseconds: one that asks for an alarm at
/// once, each time, would stop its machine's clock.
const LEAST_WAIT: u64 = 100_000;

/// The shortest window, as the least `period` of the policies that are compiled in.
const SHORTEST: Duration = Duration::from_millis(1);

/// The shortest window in instructions, likewise: 1 ms at a billion a second.
const FEWEST: u64 = 1_000_000;

/// Checks the actions of an answer, but for partitions, which the machine checks. An alarm that
/// is too early is set later.
///
/// # Errors
/// What is wrong with the first wrong one.
pub(crate) fn check(
    actions: &mut [Action<'_>],
    at: Time,
    schedules: bool,
    present: &Present,
) -> Result<(), String> {
    if actions.len() > MOST_ACTIONS {
        return Err(format!("expected at most {MOST_ACTIONS} actions, found {}", actions.len()));
    }
    actions.iter_mut().try_for_each(|action| check_one(action, at, schedules, present))
}

fn check_one(
    action: &mut Action<'_>,
    at: Time,
    schedules: bool,
    present: &Present,
) -> Result<(), String> {
    let kind = action.kind();
    let turns = match schedules {
        true => Ok(()),
        false => Err(format!("{kind}: expected a policy that says it decides turns")),
    };
    match action {
        Action::Partition { reason, .. } => text(kind, reason),
        Action::Watch { app: watched, every } => {
            present.check(*watched, kind)?;
            match *every {
                WindowLength::Time(time) if time < SHORTEST => {
                    Err(format!("watch: expected a time of at least {SHORTEST:?}, found {time:?}"))
                }
                WindowLength::Instructions(count) if count < FEWEST => {
                    Err(format!("watch: expected at least {FEWEST} instructions, found {count}"))
                }
                _ => Ok(()),
            }
        }
        Action::Wake { at: when } => {
            *when = (*when).max(at.after(Duration::from_nanos(LEAST_WAIT)));
            Ok(())
        }
        Action::WatchTogether { shortest } => {
            turns?;
            *shortest = (*shortest).max(SHORTEST);
            Ok(())
        }
        Action::Allow { thread, reason, .. } => {
            turns?;
            present.check(thread.app, kind)?;
            text(kind, reason)
        }
        Action::Priority { threads, reason, .. } => {
            turns?;
            threads.iter().try_for_each(|thread| present.check(thread.app, kind))?;
            text(kind, reason)
        }
        Action::Quantum { thread, time, reason } => {
            turns?;
            present.check(thread.app, kind)?;
            if time.is_zero() {
                return Err("quantum: expected a time above 0".to_owned());
            }
            text(kind, reason)
        }
        Action::Estimated { thread, what, .. } => {
            present.check(thread.app, kind)?;
            text(kind, what)
        }
        Action::Classified { app: classified, class, reason } => {
            present.check(*classified, kind)?;
            text(kind, class)?;
            text(kind, reason)
        }
    }
}

/// Checks a text that people will see.
pub(crate) fn text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > LONGEST_TEXT {
        return Err(format!(
            "{what}: expected a text of at most {LONGEST_TEXT} bytes, found {}",
            text.len()
        ));
    }
    match plain(text) == text {
        true => Ok(()),
        false => Err(format!("{what}: expected one line of plain text, found {text:?}")),
    }
}
