//! Solaris' time-sharing class: a feedback queue of sixty levels, by its original table (Oracle,
//! System Administration Guide, "Timesharing Parameter Table"; `ts_dptbl(4)`).

use std::time::Duration;

/// The highest level. Threads there are not raised for waiting (`ts_maxwait` 32000).
const HIGHEST: u8 = 59;

/// How often waiting threads are raised.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A level of the time-sharing class. The highest runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PriorityLevel(u8);

impl PriorityLevel {
    /// The only level of fixed priorities.
    pub(crate) const FIXED: Self = Self(0);

    /// Where a thread of the class begins: in the middle.
    pub(crate) const FIRST: Self = Self(HIGHEST / 2);

    /// `ts_quantum`, as a share of the longest quantum (200 ms in the table).
    pub(crate) fn quantum(self, longest: Duration) -> Duration {
        let tenths = match self.0 {
            0..10 => 10,
            10..20 => 8,
            20..30 => 6,
            30..40 => 4,
            40..HIGHEST => 2,
            _ => 1,
        };
        longest * tenths / 10
    }

    /// `ts_tqexp`: the level after a quantum is used up.
    pub(crate) fn expired(self) -> Self {
        Self(self.0.saturating_sub(10))
    }

    /// `ts_lwait`: the level of a thread that waits when a second begins.
    pub(crate) fn waited(self) -> Self {
        Self(match self.0 {
            level @ 0..30 => 50 + level / 10,
            30..35 => 53,
            35..40 => 54,
            40..45 => 55,
            45 => 56,
            46 => 57,
            47 | 48 => 58,
            _ => HIGHEST,
        })
    }

    /// `ts_slpret`: the level after a sleep.
    pub(crate) fn slept(self) -> Self {
        match self.0 {
            49..HIGHEST => Self(58),
            _ => self.waited(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the published table: level, quantum in ms, `ts_tqexp`, `ts_slpret`, `ts_lwait`.
    #[test]
    fn the_table_is_the_published_one() {
        for (level, quantum, expired, slept, waited) in [
            (0, 200, 0, 50, 50),
            (9, 200, 0, 50, 50),
            (10, 160, 0, 51, 51),
            (19, 160, 9, 51, 51),
            (20, 120, 10, 52, 52),
            (34, 80, 24, 53, 53),
            (35, 80, 25, 54, 54),
            (40, 40, 30, 55, 55),
            (45, 40, 35, 56, 56),
            (46, 40, 36, 57, 57),
            (47, 40, 37, 58, 58),
            (48, 40, 38, 58, 58),
            (49, 40, 39, 58, 59),
            (50, 40, 40, 58, 59),
            (58, 40, 48, 58, 59),
            (59, 20, 49, 59, 59),
        ] {
            let row = PriorityLevel(level);
            let ms = row.quantum(Duration::from_millis(200)).as_millis();
            let levels = [row.expired(), row.slept(), row.waited()];
            assert_eq!(
                (ms, levels),
                (quantum, [PriorityLevel(expired), PriorityLevel(slept), PriorityLevel(waited)]),
                "{level}"
            );
        }
    }
}
