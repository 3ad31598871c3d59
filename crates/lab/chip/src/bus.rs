//! The memory bus.
//!
//! A line occupies the bus for a time given by the bandwidth. Time passes in turns (`run.rs`) in
//! which cores run one after the other, so waiting must not depend on their order within a turn.
//! The wait has two parts: that of an M/D/1 queue at the bus's recent use, and the lines left over
//! from turns that requested more than the bus can move. Measured latencies under load can take the
//! queue's place ([`BusWait`]).

/// In the recent use, a turn weighs this many sixteenths of the turn after it.
const FADING: u64 = 15;

/// The highest use, in 1024ths, for which the queue's wait grows; lines beyond that are left over.
const MOST_USE: u64 = 1000;

/// How long a line waits for the memory bus until that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusWait {
    /// As in an M/D/1 queue at the bus's recent use. Measured waits are far longer: at 80 % use
    /// thirty times as long.
    Queue,
    /// As the Memory Latency Checker measured two sockets of Cascade Lake, with reads only: the
    /// latency of an idle chip grows with the use of the greatest bandwidth reached.
    CascadeLake,
    /// The same of Ice Lake.
    IceLake,
}

impl BusWait {
    /// Use and latency, in 1024ths of the greatest bandwidth and of the idle latency.
    fn measured(self) -> Option<&'static [(u64, u64)]> {
        match self {
            Self::Queue => None,
            // 82 ns idle, 157 at 98 %.
            Self::CascadeLake => Some(&[
                (0, 1024),
                (133, 1105),
                (246, 1186),
                (399, 1218),
                (512, 1286),
                (845, 1499),
                (1004, 1961),
            ]),
            // 91 ns idle, 264 at 100 %.
            Self::IceLake => Some(&[
                (0, 1024),
                (133, 1076),
                (246, 1108),
                (358, 1148),
                (512, 1238),
                (845, 1733),
                (952, 2082),
                (1019, 2746),
                (1024, 2971),
            ]),
        }
    }
}

/// The latency at this use, in 1024ths of the idle one; beyond the last measured use, as there.
fn latency_at(measured: &[(u64, u64)], used: u64) -> u64 {
    let after = measured.partition_point(|&(at, _)| at <= used);
    let (Some(&(from, low)), to) = (measured[..after].last(), measured.get(after)) else {
        return 1024;
    };
    to.map_or(low, |&(to, high)| low + (high - low) * (used - from) / (to - from))
}

/// The bus. Times are in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    /// Ticks that a line takes.
    line: u64,
    turn: u64,
    kind: BusWait,
    /// Ticks from a load to its value from memory on an idle chip.
    latency: u64,
    /// Lines of this turn.
    lines: u64,
    left_over: u64,
    /// The recent use, in 1024ths of 1024ths.
    used: u64,
    wait: u64,
}

impl Bus {
    pub(crate) fn new(line: u64, turn: u64, kind: BusWait, latency: u64) -> Self {
        Self { line, turn, kind, latency, lines: 0, left_over: 0, used: 0, wait: 0 }
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
        let used = self.used >> 10;
        let wait = match self.kind.measured() {
            None => {
                let used = used.min(MOST_USE);
                self.line * used / (2 * (1024 - used))
            }
            Some(measured) => (self.latency * (latency_at(measured, used) - 1024)) >> 10,
        };
        self.wait = wait + self.left_over;
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
        let mut bus = Bus::new(100, 10_000, BusWait::Queue, 0);
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

    /// Use in 1000ths of the bandwidth, and latency over that of an idle chip, as measured.
    #[test]
    fn waits_are_those_measured() {
        for (kind, measured) in [
            (BusWait::CascadeLake, [(500, 1.25), (825, 1.46), (980, 1.91)]),
            (BusWait::IceLake, [(500, 1.20), (825, 1.69), (930, 2.03)]),
        ] {
            for (lines, expected) in measured {
                let mut bus = Bus::new(10, 10_000, kind, 100_000);
                for _ in 0..200 {
                    ask(&mut bus, lines);
                    bus.end_turn(10_000);
                }
                let ratio = 1.0 + bus.take_line() as f64 / 100_000.0;
                assert!((ratio - expected).abs() < 0.02, "{kind:?} at {lines}: {ratio}");
            }
        }
    }
}
