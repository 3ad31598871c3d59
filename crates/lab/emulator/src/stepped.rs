//! The machine, as the thread that simulates has it for itself while time passes, and what it
//! publishes between two steps.

use std::collections::BTreeSet;
use std::time::Duration;

use fairways_core::Time;

use crate::hardware::{CpuClass, Hardware, Until};
use crate::moved::MovedBytes;
use crate::outside::Outside;
use crate::readings::{MarkReading, ProgramReading};
use crate::state::State;

/// How often the kernel checks whether ids in limbo are free (`CQM_LIMBOCHECK_INTERVAL`).
const LIMBO: Duration = Duration::from_secs(1);

/// The machine between steps.
pub(crate) struct SteppedHardware {
    pub(crate) hardware: Box<dyn Hardware>,
    moved: MovedBytes,
    /// By program: its classes, by CPU.
    classes: Vec<Vec<CpuClass>>,
    /// Marks whose counts may still change.
    marks: BTreeSet<u16>,
    /// The rules' generation that the machine last applied.
    generation: Option<u64>,
    limbo_at: Time,
}

impl SteppedHardware {
    pub(crate) fn new(hardware: Box<dyn Hardware>) -> Self {
        let classes = vec![Vec::new(); hardware.names().len()];
        let limbo_at = hardware.now().after(LIMBO);
        let (moved, marks) = (MovedBytes::default(), BTreeSet::new());
        Self { hardware, moved, classes, marks, generation: None, limbo_at }
    }

    /// The next step: until then, but not beyond the kernel's work of each second.
    pub(crate) fn advance(&mut self, until: &Until) -> bool {
        let next = Until { about: until.about.min(self.limbo_at), ..until.clone() };
        self.hardware.advance(&next)
    }

    /// After a step: publishes readings, and does the kernel's work of each second.
    pub(crate) fn finish_step(&mut self, state: &mut State) {
        self.publish(&mut state.outside);
        while state.outside.readings.now >= self.limbo_at {
            self.limbo_at = self.limbo_at.after(LIMBO);
            state.rules.check_limbo(&mut state.outside);
            state.rules.check_bandwidth(&mut state.outside);
        }
        for program in 0..self.classes.len() {
            if !state.outside.readings.programs[program].runs {
                state.end(program);
            }
        }
        self.apply(state);
    }

    /// Ends the programs whose placeholders were ended from outside.
    pub(crate) fn end_stopped(&mut self, state: &mut State) {
        for program in state.outside.stopped() {
            self.hardware.kill(program);
            self.publish(&mut state.outside);
            state.end(program);
        }
        self.apply(state);
    }

    /// Applies the rules to the machine, if they may have changed.
    pub(crate) fn apply(&mut self, state: &mut State) {
        if self.generation == Some(state.rules.generation()) {
            return;
        }
        self.generation = Some(state.rules.generation());
        // Bytes moved until now belong to the old marks.
        self.count_moved();
        let places = state.places();
        for program in 0..self.classes.len() {
            let by_cpu = state.classes(program, &places);
            if by_cpu != self.classes[program] {
                self.marks.extend(by_cpu.iter().map(|class| class.mark));
                self.classes[program].clone_from(&by_cpu);
                self.hardware.set_classes(program, by_cpu);
            }
        }
        self.publish(&mut state.outside);
    }

    /// The mark under which a program is counted, on the CPU that it is on.
    fn mark(hardware: &dyn Hardware, classes: &[Vec<CpuClass>], program: usize) -> u16 {
        let cpu = hardware.cpu(program).and_then(|cpu| usize::try_from(cpu).ok()).unwrap_or(0);
        classes[program].get(cpu).map_or(0, |class| class.mark)
    }

    fn count_moved(&mut self) {
        let Self { hardware, moved, classes, .. } = self;
        let hardware = hardware.as_ref();
        moved.look(hardware, |program| Self::mark(hardware, classes, program));
    }

    fn publish(&mut self, outside: &mut Outside) {
        self.count_moved();
        let Self { hardware, moved, classes, marks, .. } = self;
        let readings = &mut outside.readings;
        readings.now = hardware.now();
        readings.programs.clear();
        readings.programs.extend((0..classes.len()).map(|program| ProgramReading {
            runs: hardware.runs(program),
            cpu: hardware.cpu(program),
            counters: hardware.counters(program),
        }));
        // A mark that no program has, and no line, counts no more.
        marks.retain(|&mark| {
            let reading = MarkReading {
                occupancy: hardware.occupancy_bytes(mark),
                moved: moved.count(mark),
                cycles: moved.cycles(mark),
            };
            readings.publish(mark, reading);
            reading.occupancy > 0 || classes.iter().flatten().any(|class| class.mark == mark)
        });
    }
}
