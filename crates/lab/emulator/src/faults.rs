//! The faults that are armed, and which operations they meet.

use fairways_emulated::{Effect, Fault, Operation};

/// The armed faults, in order of arming.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Vec<Armed>,
    next: u64,
}

/// A fault that waits for its time.
#[derive(Clone, Debug)]
pub(crate) struct Armed {
    pub(crate) id: u64,
    pub(crate) fault: Fault,
    /// How often its operation came to its paths.
    pub(crate) met: u64,
}

impl Faults {
    pub(crate) fn arm(&mut self, fault: Fault) {
        self.next += 1;
        self.armed.push(Armed { id: self.next, fault, met: 0 });
    }

    /// Removes one, or all; returns whether there was any.
    pub(crate) fn clear(&mut self, id: Option<u64>) -> bool {
        let before = self.armed.len();
        self.armed.retain(|armed| id.is_some_and(|id| armed.id != id));
        self.armed.len() < before || id.is_none()
    }

    pub(crate) fn list(&self) -> &[Armed] {
        &self.armed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    /// The effects on an operation, in the order of arming. A text for the file of an event does
    /// not apply to other files, nor count for them.
    pub(crate) fn met(&mut self, operation: Operation, path: &str, is_event: bool) -> Vec<Effect> {
        let mut met = Vec::new();
        for armed in &mut self.armed {
            let Fault { operation: affected, pattern, effect, nth } = &armed.fault;
            let applies = is_event || !matches!(effect, Effect::Reports(_));
            if applies
                && (*affected == operation || *affected == Operation::Any)
                && covers(pattern, path)
            {
                armed.met += 1;
                if nth.is_none_or(|nth| nth == armed.met) {
                    met.push(*effect);
                }
            }
        }
        met
    }
}

/// Whether a pattern covers a path, which begins with `/`.
fn covers(pattern: &str, path: &str) -> bool {
    let whole: String = match pattern.chars().next() {
        Some('/' | '*' | '?') => pattern.to_owned(),
        _ => format!("/{pattern}"),
    };
    let (pattern, path): (Vec<char>, Vec<char>) = (whole.chars().collect(), path.chars().collect());
    let (mut at, mut place) = (0, 0);
    // The last `*`, and the place in the path where its rest was tried.
    let mut star: Option<(usize, usize)> = None;
    while place < path.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, place));
            at += 1;
        } else if pattern.get(at).is_some_and(|&of| of == '?' || of == path[place]) {
            (at, place) = (at + 1, place + 1);
        } else if let Some((back, tried)) = star {
            star = Some((back, tried + 1));
            (at, place) = (back + 1, tried + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&of| of == '*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fairways_resctrl::language::Reading;
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn patterns_cover_paths() {
        for (pattern, path, does) in [
            ("*/schemata", "/schemata", true),
            ("*/schemata", "/web/schemata", true),
            ("schemata", "/schemata", true),
            ("schemata", "/web/schemata", false),
            ("web/*", "/web/mon_data/mon_L3_00/llc_occupancy", true),
            ("*/mon_L3_0?/llc*", "/web/mon_data/mon_L3_00/llc_occupancy", true),
            ("*", "/", true),
            ("/", "/", true),
            ("*/tasks", "/web/tasks2", false),
            ("/web", "/website", false),
            ("*a*b", "/aXbXb", true),
        ] {
            assert_eq!(covers(pattern, path), does, "{pattern} {path}");
        }
    }

    #[test]
    fn the_nth_time_is_one_time() {
        let mut faults = Faults::default();
        faults.arm("write:*=EBUSY@2".parse().unwrap());
        faults.arm("any:*/tasks=EIO".parse().unwrap());
        let busy = Effect::Fails(Errno::BUSY);
        assert_eq!(faults.met(Operation::Read, "/schemata", false), []);
        assert_eq!(faults.met(Operation::Write, "/schemata", false), []);
        assert_eq!(faults.met(Operation::Write, "/tasks", false), [busy, Effect::Fails(Errno::IO)]);
        assert_eq!(faults.met(Operation::Write, "/schemata", false), []);
        assert!(faults.clear(Some(1)) && !faults.clear(Some(1)));
        assert_eq!(faults.list().len(), 1);
        faults.arm("read:*=Error@1".parse().unwrap());
        assert_eq!(faults.met(Operation::Read, "/schemata", false), []);
        let says = Effect::Reports(Reading::Error);
        assert_eq!(faults.met(Operation::Read, "/mon_data/x/llc_occupancy", true), [says]);
        assert!(faults.clear(None) && faults.is_empty());
    }
}
