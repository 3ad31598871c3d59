//! A thread's turns in the policy's sense: an amount of time on CPUs, whenever it runs.

/// The turn that a thread has, in nanoseconds.
#[derive(Debug)]
pub(super) struct Turns {
    quantum: u64,
    /// How long this turn is to be.
    ordered: u64,
    /// How long the next one is to be, if that was ordered.
    next: Option<u64>,
    /// How much of this turn it has had.
    had: u64,
    /// All its time on CPUs, at the last check.
    total: u64,
    /// When a check last found that it had run.
    ran_at: u64,
    /// Whether it had run at the last check, or its turn was ordered since.
    stirs: bool,
}

impl Turns {
    pub(super) const fn new(quantum: u64, total: u64, now: u64) -> Self {
        Self { quantum, ordered: quantum, next: None, had: 0, total, ran_at: now, stirs: false }
    }

    /// Orders the next turn: this one, if it has not begun. A later order replaces one that is
    /// still pending.
    pub(super) const fn order(&mut self, time: u64) {
        if self.had == 0 {
            self.ordered = time;
        } else {
            self.next = Some(time);
        }
        self.stirs = true;
    }

    /// This turn and the next one are as usual, whatever was ordered.
    pub(super) const fn as_usual(&mut self) {
        (self.ordered, self.next) = (self.quantum, None);
    }

    /// How long this turn is to be.
    pub(super) const fn ordered(&self) -> u64 {
        self.ordered
    }

    /// How soon this turn may be over, if that matters: if this turn or the next one is unusual,
    /// and the thread runs.
    pub(super) const fn urgent(&self) -> Option<u64> {
        let unusual = self.ordered != self.quantum || self.next.is_some();
        if self.stirs && unusual { Some(self.ordered.saturating_sub(self.had)) } else { None }
    }

    /// Takes the thread's time on CPUs until now, and returns the turn that ends with it, if any:
    /// its ordered length, and its real one. A turn that has begun is over, too, when the thread
    /// `sleeps` and has not run for a quantum: it gave the rest up.
    pub(super) fn look(
        &mut self,
        total: u64,
        now: u64,
        sleeps: impl FnOnce() -> bool,
    ) -> Option<(u64, u64)> {
        let ran = total.saturating_sub(self.total);
        self.total = total;
        self.stirs = ran > 0;
        if self.stirs {
            self.had = self.had.saturating_add(ran);
            self.ran_at = now;
        }
        let given_up =
            || self.had > 0 && now.saturating_sub(self.ran_at) > self.quantum && sleeps();
        if self.had < self.ordered && !given_up() {
            return None;
        }
        let turn = (self.ordered, std::mem::take(&mut self.had));
        self.ordered = self.next.take().unwrap_or(self.quantum);
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_an_amount_of_time_and_orders_are_for_the_next() {
        let mut turns = Turns::new(10, 100, 0);
        assert_eq!(turns.urgent(), None);
        turns.order(40);
        // It had not begun.
        assert_eq!((turns.ordered(), turns.urgent()), (40, Some(40)));
        assert_eq!(turns.look(115, 20, || false), None);
        assert_eq!(turns.urgent(), Some(25));
        // It has begun: this is for the next one, and replaced.
        turns.order(5);
        turns.order(7);
        assert_eq!(turns.ordered(), 40);
        assert_eq!(turns.look(143, 60, || false), Some((40, 43)));
        assert_eq!(turns.ordered(), 7);
        assert_eq!(turns.look(151, 70, || false), Some((7, 8)));
        assert_eq!((turns.ordered(), turns.urgent()), (10, None));
        assert_eq!(turns.look(161, 80, || false), Some((10, 10)));
    }

    #[test]
    fn a_thread_that_sleeps_for_a_quantum_gives_its_turn_up() {
        let mut turns = Turns::new(10, 0, 0);
        assert_eq!(turns.look(0, 50, || true), None, "it has not begun");
        assert_eq!(turns.look(4, 60, || true), None);
        assert_eq!(turns.look(4, 70, || true), None, "not for long enough");
        assert_eq!(turns.look(4, 71, || false), None, "it waits for a CPU");
        turns.order(30);
        assert_eq!(turns.look(4, 72, || true), Some((10, 4)));
        assert_eq!(turns.ordered(), 30);
        assert_eq!(turns.look(4, 200, || true), None);
    }
}
