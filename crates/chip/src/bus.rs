//! The memory bus.
//!
//! A line takes the bus for as long as its bandwidth says. Time is cut into turns (`run.rs`) within
//! which cores run one after the other, so waiting may not depend on their order within a turn. It has
//! two parts: what M/D/1 queues wait at the bus's use of late, and the lines left over from turns in
//! which more were asked for than the bus can move.

/// Of the use seen so far, an older turn weighs so many sixteenths of the turn after it.
const FADING: u64 = 15;

/// Use beyond this many 1024ths waits as at it; what is more is left over soon enough.
const MOST_USE: u64 = 1000;

/// The bus. Times are in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    /// How long a line takes.
    line: u64,
    turn: u64,
    /// Of this turn.
    lines: u64,
    left_over: u64,
    /// Of late, in 1024ths of 1024ths.
    used: u64,
    wait: u64,
}

impl Bus {
    pub(crate) fn new(line: u64, turn: u64) -> Self {
        Self { line, turn, lines: 0, left_over: 0, used: 0, wait: 0 }
    }

    /// Takes a line, which waits so long.
    pub(crate) fn take(&mut self) -> u64 {
        self.lines += 1;
        self.wait
    }

    /// Nobody has used it for a while.
    pub(crate) fn rest(&mut self) {
        (self.lines, self.left_over, self.used, self.wait) = (0, 0, 0, 0);
    }

    /// Ends a turn of this length.
    pub(crate) fn turn(&mut self, turn: u64) {
        let asked = self.lines * self.line + self.left_over;
        self.left_over = asked.saturating_sub(turn);
        let used = (asked.min(turn) << 20) / turn.max(1);
        // A short turn says less.
        let weight = (16 - FADING) * turn;
        self.used = (self.used * (16 * self.turn - weight) + used * weight) / (16 * self.turn);
        self.lines = 0;
        let used = (self.used >> 10).min(MOST_USE);
        let queue = self.line * used / (2 * (1024 - used));
        self.wait = queue + self.left_over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(bus: &mut Bus, lines: u32) {
        for _ in 0..lines {
            bus.take();
        }
    }

    #[test]
    fn waits_are_those_of_a_queue_until_it_overflows() {
        let mut bus = Bus::new(100, 10_000);
        for _ in 0..200 {
            ask(&mut bus, 50);
            bus.turn(10_000);
        }
        // Half used: 100 / 2 * 0.5 / 0.5.
        assert!((48..=50).contains(&bus.take()));
        bus.turn(10_000);
        for _ in 0..3 {
            ask(&mut bus, 120);
            bus.turn(10_000);
        }
        // 20 lines more than fit, three times.
        assert!((6000..6600).contains(&bus.take()));
        (0..300).for_each(|_| bus.turn(10_000));
        assert_eq!(bus.take(), 0);
    }
}
