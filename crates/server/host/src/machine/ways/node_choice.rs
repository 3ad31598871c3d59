//! Whether domains are nodes or caches, if several nodes share a cache. A change ends all plans and
//! windows, and anyone who sets a thread's affinity can cause one.

/// How programs are bound, from listing to listing.
#[derive(Debug)]
pub(super) struct NodeChoice {
    by_node: bool,
    /// The listings in a row in which all programs were bound to nodes.
    agreeing: u32,
    /// How many such listings have to precede a change to nodes: none at first, then twice as many
    /// after each return to caches.
    needed: u32,
}

/// The wait after the first return to caches, in listings.
const FIRST_WAIT: u32 = 4;

/// The longest wait, in listings; after this many with nodes, all returns to caches are forgotten.
const LONGEST_WAIT: u32 = 1 << 12;

impl NodeChoice {
    pub(super) fn new() -> Self {
        Self { by_node: false, agreeing: 0, needed: 0 }
    }

    /// Whether domains are nodes from now on. If a program is bound to no node, they are caches at
    /// once, as a node does not count what the program does elsewhere.
    pub(super) fn update(&mut self, are_bound: bool) -> bool {
        if are_bound {
            self.agreeing = self.agreeing.saturating_add(1);
            self.by_node |= self.agreeing > self.needed;
            if self.agreeing > self.needed + LONGEST_WAIT {
                self.needed = 0;
            }
        } else {
            if std::mem::take(&mut self.by_node) {
                self.needed = (self.needed * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
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
        assert!(!choice.update(false));
        assert!(choice.update(true), "nodes at once, the first time");
        assert!(!choice.update(false), "caches at once");
        let waits: Vec<bool> = (0..5).map(|_| choice.update(true)).collect();
        assert_eq!(waits, [false, false, false, false, true]);
        let mut changes = 0;
        let mut last = true;
        for listing in 0..10_000 {
            let now = choice.update(listing % 50 != 0);
            changes += u32::from(now != last);
            last = now;
        }
        assert!(changes < 10, "{changes}");
    }

    /// The wait is bounded, and after a long time without a change there is none.
    #[test]
    fn old_changes_are_forgotten() {
        let mut choice = NodeChoice::new();
        for _ in 0..20 {
            while !choice.update(true) {}
            assert!(!choice.update(false));
        }
        let waited = (0..).take_while(|_| !choice.update(true)).count();
        assert_eq!(waited, LONGEST_WAIT as usize);
        for _ in 0..=LONGEST_WAIT {
            assert!(choice.update(true));
        }
        assert!(!choice.update(false));
        let waited = (0..).take_while(|_| !choice.update(true)).count();
        assert_eq!(waited, FIRST_WAIT as usize);
    }
}
