//! The recent past of programs: points at equal intervals on the machine's clock.

use std::collections::{BTreeMap, VecDeque};

use fairways_record::status::{ProgramStatus, Status};

/// The most points kept for a program.
const KEPT: usize = 240;

/// The value that is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Metric {
    #[default]
    Ipc,
    Mpki,
}

impl Metric {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ipc => "IPC",
            Self::Mpki => "MPKI",
        }
    }

    fn value(self, program: &ProgramStatus) -> Option<f64> {
        match self {
            Self::Ipc => program.ipc,
            Self::Mpki => program.llcmpki,
        }
    }
}

/// A program's points, the oldest first.
#[derive(Clone, Debug, Default)]
struct Points {
    ipc: VecDeque<Option<f64>>,
    mpki: VecDeque<Option<f64>>,
}

/// All programs' points.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Nanoseconds from point to point.
    pub(super) interval_nanos: u64,
    /// The number of the last point, and the machine's clock at the last status.
    last: Option<(u64, u64)>,
    programs: BTreeMap<(u32, u32), Points>,
}

impl History {
    /// A history with a point every `interval_nanos`.
    pub(super) fn new(every: u64) -> Self {
        Self { interval_nanos: every.max(1), last: None, programs: BTreeMap::new() }
    }

    /// Records a status; points since the last one repeat its values.
    pub(super) fn record(&mut self, status: &Status) {
        let now = status.now_ns / self.interval_nanos;
        let missing = match self.last {
            // The clock went back: it is another machine.
            Some((_, before)) if status.now_ns < before => {
                self.programs.clear();
                1
            }
            Some((last, _)) => now - last,
            None => 1,
        };
        self.last = Some((now, status.now_ns));
        if missing == 0 {
            return;
        }
        let missing = usize::try_from(missing).unwrap_or(KEPT).min(KEPT);
        fn is_there(key: &(u32, u32), programs: &[ProgramStatus]) -> bool {
            programs.iter().any(|program| (program.domain, program.app) == *key)
        }
        self.programs.retain(|key, _| is_there(key, &status.programs));
        for program in &status.programs {
            let points = self.programs.entry((program.domain, program.app)).or_default();
            for (points_of, value) in [
                (&mut points.ipc, Metric::Ipc.value(program)),
                (&mut points.mpki, Metric::Mpki.value(program)),
            ] {
                // A new program has no past.
                let missing = if points_of.is_empty() { 1 } else { missing };
                points_of.extend(std::iter::repeat_n(value, missing));
                let over = points_of.len().saturating_sub(KEPT);
                points_of.drain(..over);
            }
        }
    }

    /// A program's last points as a line of this many cells, from zero to the largest among them; a
    /// blank where nothing was read.
    pub(super) fn line(&self, program: &ProgramStatus, metric: Metric, cells: usize) -> String {
        let Some(points) = self.programs.get(&(program.domain, program.app)) else {
            return String::new();
        };
        let points = match metric {
            Metric::Ipc => &points.ipc,
            Metric::Mpki => &points.mpki,
        };
        let points = points.range(points.len().saturating_sub(cells)..);
        let most = points.clone().flatten().fold(0.0, |most: f64, &point| most.max(point));
        points.map(|point| point.map_or(' ', |point| step(point, most))).collect()
    }
}

/// One of eight steps; the highest is for the largest value.
fn step(point: f64, most: f64) -> char {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    STEPS[(0..7).take_while(|step: &usize| point * 8.0 > most * (*step as f64 + 1.0)).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(now_ns: u64, ipc: Option<f64>) -> Status {
        let program = ProgramStatus { ipc, ..ProgramStatus::default() };
        Status { now_ns, programs: vec![program], ..Status::default() }
    }

    #[test]
    fn points_are_apart_in_the_machines_time_and_what_is_missing_is_a_gap() {
        let mut history = History::new(10);
        for (now, ipc) in [(0, Some(0.0)), (5, Some(9.0)), (10, Some(4.0)), (12, None), (40, None)]
        {
            history.record(&status(now, ipc));
        }
        history.record(&status(50, Some(8.0)));
        fn line(cells: usize, history: &History) -> String {
            history.line(&ProgramStatus::default(), Metric::Ipc, cells)
        }
        assert_eq!(line(9, &history), "▁▄   █");
        assert_eq!(line(2, &history), " █");
        let other = ProgramStatus { app: 7, ..ProgramStatus::default() };
        assert_eq!(history.line(&other, Metric::Ipc, 9), "");
        // A clock that goes back is another machine's.
        history.record(&status(3, Some(1.0)));
        assert_eq!(history.line(&ProgramStatus::default(), Metric::Ipc, 9), "█");
        // Only the last points are kept.
        history.record(&status(1_000_000, Some(1.0)));
        assert_eq!(
            history.line(&ProgramStatus::default(), Metric::Ipc, 1000).chars().count(),
            KEPT
        );
    }
}
