//! Which flags go with which machine, and which flags need another one.
//!
//! Conflicts between flags are defined at the flags themselves. Requirements are here, because clap
//! would ask for a missing flag before it is known whether the command takes the first one at all.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command};

use super::{HostFlags, Machine};

/// The machines that take a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taker {
    /// This host.
    Host,
    /// The analytic model.
    Model,
    /// The analytic model; under `simulate`, only with `--dynamic`.
    ModelOverTime,
    /// A chip.
    Chip,
    /// The model and a chip, but not this host.
    Simulated,
    /// The model and a chip; the model under `simulate` only with `--dynamic`.
    SimulatedOverTime,
    /// Every machine, and this host.
    Every,
    /// None: the command has no use for it.
    None,
}

const ALL: &[&str] = &["simulate", "run", "trial", "top", "blame"];
const RUNS: &[&str] = &["run", "trial", "top", "blame"];

/// Flags of `run` that a trial refuses.
pub(super) const TRIAL_REFUSES: &[&str] =
    &["instructions", "journal", "journal_parts", "journal_size", "quiet"];

/// Flags of how fast the model's programs fill ways, and how they are observed: over time, also
/// while plans settle.
const OBSERVATION: &[&str] = &["llc_mb", "lost", "noise", "overshoot"];

/// Which machines take which flags of which commands; the first row with the flag counts. The
/// flags of a host are in [`HostFlags`].
const TABLE: [(Taker, &[&str], &[&str]); 14] = [
    // A trial writes a report of its own, and its programs do not finish.
    (Taker::None, &["trial"], TRIAL_REFUSES),
    // The log of a host has levels.
    (Taker::Simulated, &["run"], &["quiet"]),
    // It draws the order of its blocks.
    (Taker::Every, &["trial"], &["seed"]),
    // A daemon or a journal has them already.
    (Taker::Simulated, &["top", "blame"], &["duration", "policy", "set"]),
    // Its programs do not finish.
    (Taker::None, &["blame"], &["instructions"]),
    (Taker::Model, &["simulate"], &["bandwidth_levels", "dynamic", "mixes", "settle"]),
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

/// Flags that need another flag of the same command.
const NEEDS: [(&str, &str); 11] = [
    ("apart", "slices"),
    ("at", "journal"),
    ("bandwidth_levels", "bandwidth_mbps"),
    ("bandwidth_model", "bandwidth_mbps"),
    ("height", "once"),
    ("journal_parts", "journal"),
    ("journal_size", "journal"),
    ("slices", "apart"),
    ("slices", "instructions"),
    ("until", "journal"),
    ("width", "once"),
];

/// The first flag of a command line that its machine does not take, or that lacks the flag that it
/// needs, with the reason.
pub(super) fn misplaced(command: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, flags) = matches.subcommand()?;
    let verb = command.find_subcommand(name)?;
    let refused = if ALL.contains(&name) { refused_by_machine(verb, flags) } else { None };
    refused.or_else(|| lacks_another(verb, flags))
}

fn is_given(flags: &ArgMatches, id: &str) -> bool {
    flags.value_source(id) == Some(ValueSource::CommandLine)
}

fn lacks_another(verb: &Command, flags: &ArgMatches) -> Option<String> {
    verb.get_arguments().find_map(|flag| {
        let id = flag.get_id().as_str();
        let mut needed = NEEDS.iter().filter(|(needing, _)| *needing == id && is_given(flags, id));
        let (_, needed) = needed.find(|(_, needed)| !is_given(flags, needed))?;
        Some(format!("--{} needs --{}", id.replace('_', "-"), needed.replace('_', "-")))
    })
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
    match row {
        Some((taker, ..)) => *taker,
        None if matches!(command, "run" | "trial") && is_of_host(flag) => Taker::Host,
        None => Taker::Every,
    }
}

fn is_of_host(flag: &str) -> bool {
    let flags = HostFlags::augment_args(Command::new("host"));
    flags.get_arguments().any(|host_flag| host_flag.get_id() == flag)
}

/// Why a machine does not take a flag: the message after the flag's name. Without a machine, a
/// command works on this host, and `top` shows a daemon, a journal or an emulator.
fn refusal(
    command: &str,
    machine: Option<&Machine>,
    is_over_time: bool,
    taker: Taker,
) -> Option<&'static str> {
    match (machine, taker) {
        (_, Taker::Every) | (None, Taker::Host) => None,
        (_, Taker::None) if command == "blame" => Some(": blame does not take it"),
        (_, Taker::None) => Some(": a trial does not take it"),
        (None, _) if ["top", "blame"].contains(&command) => Some(" needs --machine"),
        (None, _) => Some(" needs --machine: a host does not take it"),
        (Some(_), Taker::Host) => Some(" is for a host: a simulated machine does not take it"),
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
            let words = ["fairways", "simulate", "--settle", "60s", flag, "2"];
            let flags = command.clone().try_get_matches_from(words).unwrap();
            assert_eq!(misplaced(&command, &flags).is_none(), is_taken, "{flag}");
        }
    }

    /// Otherwise a flag that was renamed would need nothing, or the check would panic.
    #[test]
    fn every_flag_that_needs_another_has_it_in_its_command() {
        let all = Args::command();
        for (needing, needed) in NEEDS {
            let mut seen = 0;
            for verb in all.get_subcommands() {
                let flags: Vec<_> =
                    verb.get_arguments().map(|flag| flag.get_id().as_str()).collect();
                if flags.contains(&needing) {
                    assert!(flags.contains(&needed), "{}: {needing}", verb.get_name());
                    seen += 1;
                }
            }
            assert!(seen > 0, "{needing}");
        }
    }

    /// A new flag is placed on purpose, not by being forgotten.
    #[test]
    fn a_flag_outside_of_the_table_is_one_of_those_that_every_machine_takes() {
        const EVERYWHERE: [&str; 24] = [
            "at",
            "block",
            "control",
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
                let is_known = is_of_host(id) || EVERYWHERE.contains(&id) || id == "width";
                assert!(is_placed || is_known, "{name} --{id}");
            }
        }
    }

    #[test]
    fn a_flag_that_a_machine_does_not_take_is_refused_with_the_machine_that_does() {
        for (line, why) in [
            ("run --program a=pid:1 --mix triad", "--mix needs --machine: a host does not take it"),
            (
                "run --machine model --dry-run",
                "--dry-run is for a host: a simulated machine does not take it",
            ),
            (
                "trial --machine model --observe",
                "--observe is for a host: a simulated machine does not take it",
            ),
            ("trial --program a=pid:1 --clos 4", "--clos needs --machine: a host does not take it"),
            ("trial --program a=pid:1 --quiet", "--quiet: a trial does not take it"),
            ("trial --journal-size 5M", "--journal-size: a trial does not take it"),
            ("run --program a=pid:1 --journal-size 5M", "--journal-size needs --journal"),
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
            ("run --program a=pid:1 --quiet", "--quiet needs --machine: a host does not take it"),
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
            "trial --program a=pid:1 --seed 3",
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
        let words = std::iter::once("fairways").chain(line.split(' '));
        let matches = command.clone().try_get_matches_from(words).unwrap();
        misplaced(&command, &matches)
    }
}
