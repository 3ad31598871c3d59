//! Whether domains are nodes or caches, where several nodes share a cache: a change ends all plans
//! and windows, and anybody who sets a thread's affinity can cause one.

/// What programs want, listing after listing.
#[derive(Debug)]
pub(super) struct NodeChoice {
    by_node: bool,
    /// The listings in a row in which all programs were bound to nodes.
    agreeing: u32,
    /// How many it takes for nodes: none at first, then twice as many after each return to caches.
    needed: u32,
}

/// The listings that it takes after the first return to caches.
const FIRST: u32 = 4;

/// More are not waited for.
const MOST: u32 = 1 << 12;

impl NodeChoice {
    pub(super) fn new() -> Self {
        Self { by_node: false, agreeing: 0, needed: 0 }
    }

    /// Whether domains are nodes from now on. Caches at once if a program is bound to no node, as a
    /// node does not count what it does elsewhere.
    pub(super) fn after(&mut self, are_bound: bool) -> bool {
        if are_bound {
            self.agreeing = self.agreeing.saturating_add(1);
            self.by_node |= self.agreeing > self.needed;
        } else {
            if std::mem::take(&mut self.by_node) {
                self.needed = (self.needed * 2).clamp(FIRST, MOST);
            }
            self.agreeing = 0;
        }
        self.by_node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_goes_to_and_fro_changes_little() {
        let mut choice = NodeChoice::new();
        assert!(!choice.after(false));
        assert!(choice.after(true), "nodes at once, the first time");
        assert!(!choice.after(false), "caches at once");
        let waits: Vec<bool> = (0..5).map(|_| choice.after(true)).collect();
        assert_eq!(waits, [false, false, false, false, true]);
        let mut changes = 0;
        let mut last = true;
        for listing in 0..10_000 {
            let now = choice.after(listing % 50 != 0);
            changes += u32::from(now != last);
            last = now;
        }
        assert!(changes < 10, "{changes}");
    }
}
