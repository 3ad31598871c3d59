//! Which flags go with which machine.

use clap::{ArgMatches, Command};
use fairways_verbs::is_given;

use super::Machine;

/// The machines that take a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taker {
    /// The analytic model.
    Model,
    /// The analytic model; under `simulate`, only with `--dynamic`.
    ModelOverTime,
    /// A chip.
    Chip,
    /// The model and a chip.
    Simulated,
    /// The model and a chip; the model under `simulate` only with `--dynamic`.
    SimulatedOverTime,
    /// Every machine, and a journal.
    Every,
    /// None: the command has no use for it.
    None,
}

const ALL: &[&str] = &["simulate", "run", "trial", "top", "blame"];
const RUNS: &[&str] = &["run", "trial", "top", "blame"];

/// Flags of how fast the model's programs fill ways, and how they are observed: over time, also
/// while plans settle.
const OBSERVATION: &[&str] = &["llc_mb", "lost", "noise", "overshoot"];

/// Which machines take which flags of which commands; the first row with the flag counts.
const TABLE: [(Taker, &[&str], &[&str]); 12] = [
    // Programs of a trial do not finish.
    (Taker::None, &["trial"], &["instructions"]),
    // A journal has them already.
    (Taker::Simulated, &["top", "blame"], &["duration", "policy", "set"]),
    // Its programs do not finish.
    (Taker::None, &["blame"], &["instructions"]),
    (
        Taker::Model,
        &["simulate"],
        &["bandwidth_levels", "caches", "cpus", "dynamic", "mixes", "settle"],
    ),
    (Taker::ModelOverTime, &["simulate"], &["completions", "instructions"]),
    (Taker::SimulatedOverTime, &["simulate"], &["known_profiles", "time_scale"]),
    (Taker::Chip, &["simulate"], &["duration", "warm_up"]),
    (Taker::Chip, RUNS, &["time_scale"]),
    (Taker::Model, ALL, &["bandwidth_mbps", "bandwidth_model", "mix", "phases", "ways"]),
    (Taker::ModelOverTime, ALL, OBSERVATION),
    (
        Taker::Chip,
        ALL,
        &[
            "best_effort",
            "loads",
            "objectives",
            "pages",
            "placement",
            "profile_time",
            "programs",
            "quantum",
            "scheduling_class",
            "set_sampling",
        ],
    ),
    (
        Taker::Simulated,
        ALL,
        &[
            "baselines",
            "clos",
            "importance",
            "instructions",
            "known_profiles",
            "min_bits",
            "profiles",
            "seed",
        ],
    ),
];

/// The first flag of a command line that its machine does not take, with the reason.
pub(crate) fn misplaced(command: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, flags) = matches.subcommand()?;
    let verb = command.find_subcommand(name)?;
    if ALL.contains(&name) { refused_by_machine(verb, flags) } else { None }
}

fn refused_by_machine(verb: &Command, flags: &ArgMatches) -> Option<String> {
    let name = verb.get_name();
    let machine = flags.get_one::<Machine>("machine");
    let machine = machine.or((name == "simulate").then_some(&Machine::Model));
    let is_over_time = name != "simulate" || flags.get_flag("dynamic");
    let settles = name == "simulate" && is_given(flags, "settle");
    verb.get_arguments().find_map(|flag| {
        let id = flag.get_id().as_str();
        if !is_given(flags, id) {
            return None;
        }
        let is_over_time = is_over_time || settles && OBSERVATION.contains(&id);
        let why = refusal(name, machine, is_over_time, taker(name, id))?;
        Some(format!("--{}{why}", flag.get_long()?))
    })
}

/// The machines that take a command's flag.
fn taker(command: &str, flag: &str) -> Taker {
    let row = TABLE
        .iter()
        .find(|(_, commands, flags)| commands.contains(&command) && flags.contains(&flag));
    row.map_or(Taker::Every, |(taker, ..)| *taker)
}

/// Why a machine does not take a flag: the message after the flag's name. Without a machine, `top`
/// and `blame` show a journal or an emulator.
fn refusal(
    command: &str,
    machine: Option<&Machine>,
    is_over_time: bool,
    taker: Taker,
) -> Option<&'static str> {
    match (machine, taker) {
        (_, Taker::Every) => None,
        (_, Taker::None) if command == "blame" => Some(": blame does not take it"),
        (_, Taker::None) => Some(": a trial does not take it"),
        (None, _) => Some(" needs --machine"),
        (Some(Machine::Model), Taker::Chip) => {
            Some(" needs --machine chip:PRESET: the model does not take it")
        }
        (Some(Machine::Model), Taker::ModelOverTime | Taker::SimulatedOverTime) => {
            (!is_over_time).then_some(" needs --dynamic")
        }
        (Some(Machine::Chip(_)), Taker::Model | Taker::ModelOverTime) => {
            Some(" needs --machine model: a chip does not take it")
        }
        (Some(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    /// Otherwise every machine would take a flag that was renamed.
    #[test]
    fn every_flag_of_the_table_exists() {
        let all = Args::command();
        for (_, commands, flags) in TABLE {
            let commands = commands.iter().map(|name| all.find_subcommand(name).unwrap());
            let known: Vec<_> = commands.flat_map(Command::get_arguments).collect();
            for flag in flags {
                assert!(known.iter().any(|known| known.get_id() == *flag), "{flag}");
            }
        }
    }

    /// Plans settle while programs run, but by no protocol with runs of a length.
    #[test]
    fn flags_of_observation_are_taken_while_plans_settle() {
        let command = Args::command();
        for (flag, is_taken) in [("--noise", true), ("--lost", true), ("--completions", false)] {
            let words = ["fairways-lab", "simulate", "--settle", "60s", flag, "2"];
            let flags = command.clone().try_get_matches_from(words).unwrap();
            assert_eq!(misplaced(&command, &flags).is_none(), is_taken, "{flag}");
        }
    }

    /// A new flag is placed on purpose, not by being forgotten.
    #[test]
    fn a_flag_outside_of_the_table_is_one_of_those_that_every_machine_takes() {
        const EVERYWHERE: [&str; 24] = [
            "at",
            "block",
            "csv",
            "duration",
            "emulated",
            "height",
            "help",
            "interval",
            "journal",
            "journal_parts",
            "journal_size",
            "json",
            "learn",
            "machine",
            "no_color",
            "once",
            "plot",
            "policies",
            "policy",
            "quiet",
            "set",
            "since",
            "speed",
            "until",
        ];
        let all = Args::command();
        for name in ALL {
            for flag in all.find_subcommand(name).unwrap().get_arguments() {
                let id = flag.get_id().as_str();
                let is_placed = TABLE
                    .iter()
                    .any(|(_, commands, flags)| commands.contains(name) && flags.contains(&id));
                let is_known = EVERYWHERE.contains(&id) || id == "width";
                assert!(is_placed || is_known, "{name} --{id}");
            }
        }
    }

    #[test]
    fn a_flag_that_a_machine_does_not_take_is_refused_with_the_machine_that_does() {
        for (line, why) in [
            ("run --journal-size 5M", "--journal-size needs --journal"),
            ("trial --instructions 5", "--instructions: a trial does not take it"),
            ("top --width 80", "--width needs --once"),
            ("top --at 5s", "--at needs --journal"),
            ("optimum --bandwidth-model stalls", "--bandwidth-model needs --bandwidth-mbps"),
            ("optimum --bandwidth-levels 50", "--bandwidth-levels needs --bandwidth-mbps"),
            ("simulate --completions 2", "--completions needs --dynamic"),
            ("top --policy lfoc", "--policy needs --machine"),
            ("simulate --noise 2", "--noise needs --dynamic"),
            (
                "simulate --machine chip:xeon-d --programs mlr:1M --dynamic",
                "--dynamic needs --machine model: a chip does not take it",
            ),
            (
                "simulate --duration 1s",
                "--duration needs --machine chip:PRESET: the model does not take it",
            ),
            (
                "run --machine model --time-scale 0.1",
                "--time-scale needs --machine chip:PRESET: the model does not take it",
            ),
            (
                "run --machine chip:xeon-d --llc-mb 20",
                "--llc-mb needs --machine model: a chip does not take it",
            ),
        ] {
            assert_eq!(refused(line).as_deref(), Some(why), "{line}");
        }
        for line in [
            "trial --seed 3",
            "simulate --dynamic --time-scale 0.1",
            "simulate --machine chip:xeon-d --programs mlr:1M --known-profiles --time-scale 0.1",
            "run --machine model --instructions 5",
            "top --machine chip:xeon-d --programs mlr:1M --duration 1s",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }

    fn refused(line: &str) -> Option<String> {
        let command = Args::command();
        let words = std::iter::once("fairways-lab").chain(line.split(' '));
        let matches = command.clone().try_get_matches_from(words).unwrap();
        crate::DOOR.misplaced(&command, &matches)
    }
}
