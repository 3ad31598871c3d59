//! Events and decisions of a run, one line each.

use std::collections::HashMap;
use std::io::{self, Write};

use fairways_command_kit::partition::{bar, levels, members};
use fairways_command_kit::table::fold;
use fairways_core::{Action, AppId, BandwidthUnit, Event, Levers, Partition, Time, Ways};
use fairways_policy::{kpart, lfoc, words};
use fairways_record::status::estimate_text;

/// Prints each event and decision as it happens.
pub struct Report<'a> {
    out: &'a mut dyn Write,
    ways: Ways,
    /// The names of the mix's programs.
    names: Vec<String>,
    /// Which of them each app is.
    programs: HashMap<AppId, usize>,
    /// The program that is being sampled.
    sampled: Option<AppId>,
    /// The latest plan.
    planned: Partition,
    /// The unit of levels of memory bandwidth, where the machine can limit it.
    unit: Option<BandwidthUnit>,
    /// Estimates that are not yet printed, and their program.
    numbers: Vec<String>,
    of: Option<AppId>,
}

impl<'a> Report<'a> {
    /// A report of programs with these names that share these ways.
    pub fn new(ways: Ways, names: Vec<String>, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            ways,
            names,
            programs: HashMap::new(),
            sampled: None,
            planned: Partition::default(),
            unit: None,
            numbers: Vec::new(),
            of: None,
        }
    }

    /// The app's number, and the name of its program.
    fn name(&self, app: AppId) -> String {
        let program = self.programs.get(&app).and_then(|&index| self.names.get(index));
        format!("{} {}", app.0, program.map_or("", String::as_str))
    }

    /// Prints a line with its time; it continues below itself where the terminal is narrow.
    fn line(&mut self, at: Time, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", fold(&format!("{at:>11}  {text}"), 15))
    }

    /// Prints an event; `job` is the number of an app's program, if it runs.
    ///
    /// # Errors
    /// If it can't be printed.
    pub fn event(
        &mut self,
        at: Time,
        event: &Event,
        job: impl FnOnce(AppId) -> Option<usize>,
    ) -> io::Result<()> {
        match event {
            Event::Machine(Levers { llc, bandwidth }) => {
                self.unit = bandwidth.map(|lever| lever.unit);
                let (ways, least, clos) = (llc.ways, llc.min_ways(), llc.clos);
                let least = format!("at least {least} in a mask");
                self.line(
                    at,
                    &format!("a cache of {ways} ways, {clos} classes of service, {least}"),
                )
            }
            Event::Started { app, .. } => {
                self.programs.extend(job(*app).map(|job| (*app, job)));
                self.line(at, &format!("{} starts", self.name(*app)))
            }
            Event::Exited { app } => self.line(at, &format!("{} has finished", self.name(*app))),
            Event::Applied { plan, actual } if !actual.agrees_with(&self.planned) => {
                let (bar, members) = (bar(actual, self.ways), members(actual));
                let levels = self.levels(actual);
                self.line(at, &format!("plan {} has come to {bar}  {members}{levels}", plan.0))
            }
            Event::Refused { plan, why } => {
                self.line(at, &format!("plan {} is refused: {why}", plan.0))
            }
            Event::Cpus(cpus) => {
                let quantum = cpus.quantum;
                self.line(at, &format!("{} CPUs, a quantum of {quantum:?}", cpus.count))
            }
            Event::Wished { app, wish } => {
                let wished = wish.objective.map(|objective| format!("an objective of {objective}"));
                let wished = wished.unwrap_or_else(|| "no objective".to_owned());
                self.line(at, &format!("{} has {wished} from now on", self.name(*app)))
            }
            Event::Applied { .. }
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Woke => Ok(()),
        }
    }

    /// The levels of memory bandwidth of a partition's clusters, if it has any.
    fn levels(&self, partition: &Partition) -> String {
        self.unit.map_or_else(String::new, |unit| levels(partition, unit))
    }

    /// Prints the estimates of a program that are not yet printed.
    ///
    /// # Errors
    /// If they can't be printed.
    pub fn numbers(&mut self, at: Time) -> io::Result<()> {
        let Some(app) = self.of.take() else { return Ok(()) };
        let (name, numbers) = (self.name(app), self.numbers.join(", "));
        self.numbers.clear();
        self.line(at, &format!("{name}: {numbers}"))
    }

    /// Prints an action.
    ///
    /// # Errors
    /// If it can't be printed.
    pub fn action(&mut self, at: Time, action: &Action<'_>) -> io::Result<()> {
        if !matches!(action, Action::Estimated { thread, .. } if self.of == Some(thread.app)) {
            self.numbers(at)?;
        }
        if let Action::Partition { partition, .. } = action {
            self.planned = partition.clone().into_owned();
        }
        match action {
            Action::Partition { partition, reason, .. }
                if [lfoc::SAMPLING, kpart::SAMPLING].contains(&&**reason) =>
            {
                let app = partition.placements().first().map(|place| place.app);
                if self.sampled == app {
                    return Ok(());
                }
                self.sampled = app;
                let name = app.map_or(String::new(), |app| self.name(app));
                self.line(at, &format!("{name} is sampled"))
            }
            Action::Partition { plan, partition, reason } => {
                self.sampled = None;
                let bar = bar(partition, self.ways);
                let (members, levels) = (members(partition), self.levels(partition));
                self.line(at, &format!("plan {} {bar}  {members}{levels}  ({reason})", plan.0))
            }
            Action::Classified { app, class, reason } => {
                self.line(at, &format!("{} is {class}: {reason}", self.name(*app)))
            }
            Action::Allow { thread, cpus, reason } => {
                let name = self.name(thread.app);
                let cpus = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                self.line(at, &format!("{name} may run on CPUs {cpus}: {reason}"))
            }
            Action::Priority { threads, raised, reason } => {
                let names = threads.iter().map(|thread| self.name(thread.app));
                let names = names.collect::<Vec<_>>().join(", ");
                let what = if *raised { "raised" } else { "no longer raised" };
                self.line(at, &format!("{what}: {names} ({reason})"))
            }
            // Printed later, in one line with the program's next ones.
            Action::Estimated { thread, what, value, raw } => {
                let is = |raw: f64| raw / (1_u64 << 32) as f64;
                let mut text = estimate_text(words::current(what), is(value.raw() as f64));
                if u64::try_from(*raw) != Ok(value.raw()) {
                    text += &format!(" (as it came out, {:.3})", is(*raw as f64));
                }
                self.numbers.push(text);
                self.of = Some(thread.app);
                Ok(())
            }
            // A round, or a turn of one, is no news.
            Action::Watch { .. }
            | Action::WatchTogether { .. }
            | Action::Quantum { .. }
            | Action::Wake { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{
        BandwidthLevel, BandwidthLever, LimitScope, Llc, PlanId, Resources, WayMask,
    };

    use super::*;

    #[test]
    fn levels_are_printed_with_their_plan_and_again_where_the_machine_rounds_them() {
        let mut out = Vec::new();
        let mut report = Report::new(Ways::new(4).unwrap(), Vec::new(), &mut out);
        let [least, most] = [10, 100].map(|level| BandwidthLevel::new(level).unwrap());
        let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
        let bandwidth =
            Some(BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None });
        let llc = Llc::with_ways(Ways::new(4).unwrap());
        let machine = Event::Machine(Levers { llc, bandwidth });
        report.event(Time::ZERO, &machine, |_| None).unwrap();
        let plan = PlanId(1);
        let [planned, actual] = [11, 20].map(|level| {
            let mut partition = Partition::default();
            let bandwidth = BandwidthLevel::new(level);
            partition.add(Resources { mask: WayMask::from_bits(3), bandwidth });
            partition.place(AppId(0), 0);
            partition
        });
        let reason = "so".into();
        let action = Action::Partition { plan, partition: planned.into(), reason };
        report.action(Time::ZERO, &action).unwrap();
        report.event(Time::ZERO, &Event::Applied { plan, actual }, |_| None).unwrap();
        let text = String::from_utf8(out).unwrap();
        let ends: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.split("A 0").nth(1)).collect();
        assert_eq!(ends, ["  at most A 11 %  (so)", "  at most A 20 %"], "{text}");
    }
}
