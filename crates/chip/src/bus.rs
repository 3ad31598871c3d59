//! The memory bus.
//!
//! A line occupies the bus for a time given by the bandwidth. Time passes in turns (`run.rs`) in
//! which cores run one after the other, so waiting must not depend on their order within a turn.
//! The wait has two parts: that of an M/D/1 queue at the bus's recent use, and the lines left over
//! from turns that requested more than the bus can move.

/// In the recent use, a turn weighs this many sixteenths of the turn after it.
const FADING: u64 = 15;

/// The highest use, in 1024ths, for which the queue's wait grows; lines beyond that are left over.
const MOST_USE: u64 = 1000;

/// The bus. Times are in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    /// Ticks that a line takes.
    line: u64,
    turn: u64,
    /// Lines of this turn.
    lines: u64,
    left_over: u64,
    /// The recent use, in 1024ths of 1024ths.
    used: u64,
    wait: u64,
}

impl Bus {
    pub(crate) fn new(line: u64, turn: u64) -> Self {
        Self { line, turn, lines: 0, left_over: 0, used: 0, wait: 0 }
    }

    /// Moves a line; returns how long it waits.
    pub(crate) fn take_line(&mut self) -> u64 {
        self.lines += 1;
        self.wait
    }

    /// Resets the bus after it was unused for a while.
    pub(crate) fn reset(&mut self) {
        (self.lines, self.left_over, self.used, self.wait) = (0, 0, 0, 0);
    }

    /// Ends a turn of this length.
    pub(crate) fn end_turn(&mut self, turn: u64) {
        let requested = self.lines * self.line + self.left_over;
        self.left_over = requested.saturating_sub(turn);
        let used = (requested.min(turn) << 20) / turn.max(1);
        // A short turn weighs less.
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
            bus.take_line();
        }
    }

    #[test]
    fn waits_are_those_of_a_queue_until_it_overflows() {
        let mut bus = Bus::new(100, 10_000);
        for _ in 0..200 {
            ask(&mut bus, 50);
            bus.end_turn(10_000);
        }
        // Half used: 100 / 2 * 0.5 / 0.5.
        assert!((48..=50).contains(&bus.take_line()));
        bus.end_turn(10_000);
        for _ in 0..3 {
            ask(&mut bus, 120);
            bus.end_turn(10_000);
        }
        // 20 lines more than fit, three times.
        assert!((6000..6600).contains(&bus.take_line()));
        (0..300).for_each(|_| bus.end_turn(10_000));
        assert_eq!(bus.take_line(), 0);
    }
}
