//! What programs did lately: a point each so often, on the machine's clock.

use std::collections::{BTreeMap, VecDeque};

use fairways_record::status::{Program, Status};

/// So many points are kept of a program.
const KEPT: usize = 240;

/// What is drawn of it.
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

    fn of(self, program: &Program) -> Option<f64> {
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
    pub(super) every: u64,
    /// The time of the last point in these, and when the machine's clock was looked at.
    last: Option<(u64, u64)>,
    programs: BTreeMap<(u32, u32), Points>,
}

impl History {
    /// One that has a point so often.
    pub(super) fn new(every: u64) -> Self {
        Self { every: every.max(1), last: None, programs: BTreeMap::new() }
    }

    /// Takes in how the machine is: whatever was so until now, from the last point on, is the same in the points between.
    pub(super) fn take(&mut self, status: &Status) {
        let now = status.now_ns / self.every;
        let points = match self.last {
            // Another machine.
            Some((_, before)) if status.now_ns < before => {
                self.programs.clear();
                1
            }
            Some((last, _)) => now - last,
            None => 1,
        };
        self.last = Some((now, status.now_ns));
        if points == 0 {
            return;
        }
        let points = usize::try_from(points).unwrap_or(KEPT).min(KEPT);
        let is_there =
            |key: &(u32, u32)| status.programs.iter().any(|of| (of.domain, of.app) == *key);
        self.programs.retain(|key, _| is_there(key));
        for program in &status.programs {
            let of = self.programs.entry((program.domain, program.app)).or_default();
            for (points_of, value) in
                [(&mut of.ipc, Metric::Ipc.of(program)), (&mut of.mpki, Metric::Mpki.of(program))]
            {
                // One that is new has no past.
                let points = if points_of.is_empty() { 1 } else { points };
                points_of.extend(std::iter::repeat_n(value, points));
                let over = points_of.len().saturating_sub(KEPT);
                points_of.drain(..over);
            }
        }
    }

    /// A program's last points as a line of so many cells, from nothing to the largest among them; a blank where nothing was
    /// read.
    pub(super) fn line(&self, program: &Program, metric: Metric, cells: usize) -> String {
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

/// One of eight steps, of which the highest is for the largest.
fn step(point: f64, most: f64) -> char {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let is_below = |step: &usize| point * 8.0 > most * (*step as f64 + 1.0);
    STEPS[(0..7).take_while(is_below).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(now_ns: u64, ipc: Option<f64>) -> Status {
        let program = Program { ipc, ..Program::default() };
        Status { now_ns, programs: vec![program], ..Status::default() }
    }

    #[test]
    fn points_are_apart_in_the_machines_time_and_what_is_missing_is_a_gap() {
        let mut history = History::new(10);
        for (now, ipc) in [(0, Some(0.0)), (5, Some(9.0)), (10, Some(4.0)), (12, None), (40, None)]
        {
            history.take(&status(now, ipc));
        }
        history.take(&status(50, Some(8.0)));
        let line = |cells| history.line(&Program::default(), Metric::Ipc, cells);
        assert_eq!(line(9), "▁▄   █");
        assert_eq!(line(2), " █");
        let other = Program { app: 7, ..Program::default() };
        assert_eq!(history.line(&other, Metric::Ipc, 9), "");
        // A clock that goes back is another machine's.
        history.take(&status(3, Some(1.0)));
        assert_eq!(history.line(&Program::default(), Metric::Ipc, 9), "█");
        // The last are kept.
        history.take(&status(1_000_000, Some(1.0)));
        assert_eq!(history.line(&Program::default(), Metric::Ipc, 1000).chars().count(), KEPT);
    }
}
