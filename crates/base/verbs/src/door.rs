//! The front doors: the two programs that users start.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use fairways_command_kit::similar::nearest;
use fairways_command_kit::{ExitCode, exit, fail, plain};

use crate::help::command_for;
use crate::manual::Manual;

/// The program in whose words the commands of both doors are written.
const FIRST: &str = "fairways";

/// The commands that both doors have, in the words of the first.
const COMMON: [&str; 5] = ["explain", "replay", "policies", "completions", "man"];

/// What one door needs to know of the other, to send users there.
#[derive(Clone, Copy, Debug)]
pub struct OtherDoor {
    /// Its name.
    pub name: &'static str,
    /// Its commands that this door lacks.
    pub verbs: &'static [&'static str],
    /// Its flags that this door lacks, of commands that both have: command and flag.
    pub flags: &'static [(&'static str, &'static str)],
}

/// A front door.
#[derive(Clone, Copy, Debug)]
pub struct Door {
    /// The name of the program.
    pub name: &'static str,
    /// What to begin with, by purpose.
    pub examples: &'static str,
    /// The date of the last commit; empty for a build without git.
    pub date: &'static str,
    /// Its commands and flags, as they are derived.
    pub derived: fn() -> Command,
    /// Flags that need another flag of the same command. They are checked last, because clap would
    /// ask for a missing flag before it is known whether the command takes the first one at all.
    pub needs: &'static [(&'static str, &'static str)],
    /// The first flag that is out of place, with the reason.
    pub misplaced: fn(&Command, &ArgMatches) -> Option<String>,
    /// The other door.
    pub other: OtherDoor,
}

/// The arguments of a door.
pub trait DoorArgs: FromArgMatches {
    /// Runs a hidden command, which programs start and users don't; `None` for other commands.
    fn hidden(&self) -> Option<io::Result<()>>;

    /// Runs the command.
    ///
    /// # Errors
    /// If it fails.
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()>;
}

impl Door {
    /// Runs the command line of this process, and returns its exit code ([`exit`]).
    #[must_use]
    pub fn main<A: DoorArgs>(&self) -> process::ExitCode {
        exit::set_program(self.name);
        let args: A = match self.parsed(std::env::args_os().collect()) {
            Ok(args) => args,
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    let _ = error.print();
                    return process::ExitCode::SUCCESS;
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    let _ = error.print();
                    return process::ExitCode::from(exit::USAGE);
                }
                _ => return fail(&self.one_line(&error), exit::USAGE),
            },
        };
        if let Some(done) = args.hidden() {
            return done
                .map_or_else(|why| fail(&why.to_string(), 1), |()| process::ExitCode::SUCCESS);
        }
        // The output may quote text of other users: files, processes, sockets.
        let mut out = BufWriter::new(plain::Plain::new(io::stdout().lock()));
        let done = args.run(&mut out);
        match done.and_then(|()| Ok(out.flush()?)).and_then(|()| no_faults()) {
            Ok(()) => process::ExitCode::SUCCESS,
            // The reader of the output has seen enough.
            Err(error) if exit::is_broken_pipe(&error) => process::ExitCode::SUCCESS,
            Err(error) if error.is::<ExitCode>() => process::ExitCode::from(exit::code_of(&error)),
            Err(error) => fail(&format!("{error:#}"), exit::code_of(&error)),
        }
    }

    /// Its commands and flags.
    #[must_use]
    pub fn command(&self) -> Command {
        let command = (self.derived)().name(self.name).bin_name(self.name);
        if self.name == FIRST {
            return command;
        }
        COMMON.iter().fold(command, |command, verb| {
            command.mut_subcommand(verb, |verb| {
                let verb = match (verb.get_about(), verb.get_long_about()) {
                    (Some(short), Some(long)) => {
                        let texts = [short, long].map(|text| self.renamed(&text.to_string()));
                        let [short, long] = texts;
                        verb.about(short).long_about(long)
                    }
                    _ => verb,
                };
                verb.mut_args(|flag| match (flag.get_help(), flag.get_long_help()) {
                    (Some(short), long) => {
                        let short = short.to_string();
                        let long = long.map_or_else(|| short.clone(), ToString::to_string);
                        flag.help(self.renamed(&short)).long_help(self.renamed(&long))
                    }
                    _ => flag,
                })
            })
        })
    }

    /// A text about the first door's commands, for this one.
    fn renamed(&self, text: &str) -> String {
        let ends = [" ", "(1)", ".fish", "\n"];
        let mut renamed = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(FIRST) {
            let is_name = after.is_empty() || ends.iter().any(|end| after.starts_with(end));
            renamed += before;
            renamed += if is_name { self.name } else { FIRST };
            rest = after;
        }
        renamed + rest
    }

    /// Its manual.
    #[must_use]
    pub fn manual(&self) -> Manual {
        Manual::new(self.command(), self.examples, self.date)
    }

    /// Reads the arguments of this process, or of another one.
    ///
    /// # Errors
    /// If they are not understood, or ask for help.
    pub fn parsed<A: FromArgMatches>(&self, words: Vec<OsString>) -> Result<A, clap::Error> {
        let mut command = command_for(self.command(), &words);
        let matches = command.try_get_matches_from_mut(words.clone()).map_err(|error| {
            self.elsewhere(&error, &words)
                .map_or(error, |why| command.error(ErrorKind::ArgumentConflict, why))
        })?;
        if let Some(why) = self.misplaced(&command, &matches) {
            return Err(command.error(ErrorKind::ArgumentConflict, why));
        }
        A::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The first flag of a command line that is out of place, or that lacks the flag that it needs,
    /// with the reason.
    #[must_use]
    pub fn misplaced(&self, command: &Command, matches: &ArgMatches) -> Option<String> {
        (self.misplaced)(command, matches).or_else(|| {
            let (name, flags) = matches.subcommand()?;
            self.lacks_another(command.find_subcommand(name)?, flags)
        })
    }

    fn lacks_another(&self, verb: &Command, flags: &ArgMatches) -> Option<String> {
        verb.get_arguments().find_map(|flag| {
            let id = flag.get_id().as_str();
            let mut needed =
                self.needs.iter().filter(|(needing, _)| *needing == id && is_given(flags, id));
            let (_, needed) = needed.find(|(_, needed)| !is_given(flags, needed))?;
            Some(format!("--{} needs --{}", id.replace('_', "-"), needed.replace('_', "-")))
        })
    }

    /// Where a command or a flag is that this door lacks, if the other one has it.
    fn elsewhere(&self, error: &clap::Error, words: &[OsString]) -> Option<String> {
        let OtherDoor { name: other, verbs, flags } = self.other;
        match (
            error.kind(),
            error.get(ContextKind::InvalidSubcommand),
            error.get(ContextKind::InvalidArg),
        ) {
            (ErrorKind::InvalidSubcommand, Some(ContextValue::String(typed)), _) => {
                if other.strip_prefix(FIRST) == Some(&format!("-{typed}")) {
                    return Some(format!("{other} is a program of its own: {other} --help"));
                }
                if verbs.contains(&typed.as_str()) {
                    return Some(format!("{typed} is a command of {other}: {other} {typed}"));
                }
                let is_known = error.get(ContextKind::SuggestedSubcommand).is_some();
                let verb = nearest(typed, verbs.iter().copied()).filter(|_| !is_known)?;
                Some(format!("unrecognized subcommand '{typed}'; did you mean \"{other} {verb}\"?"))
            }
            (ErrorKind::UnknownArgument, _, Some(ContextValue::String(flag))) => {
                let typed = words.get(1)?;
                let (verb, flag) = flags.iter().find(|(verb, there)| {
                    *verb == typed && flag.strip_prefix("--") == Some(*there)
                })?;
                let words: Vec<_> = words[2..].iter().map(|word| word.to_string_lossy()).collect();
                let rest = shell_words::join(words);
                Some(format!("--{flag} is a flag of {other}: {other} {verb} {rest}"))
            }
            _ => None,
        }
    }

    /// A usage error in one line: clap's message without its usage, and clap's suggestion.
    #[must_use]
    pub fn one_line(&self, error: &clap::Error) -> String {
        // The value's parser says what it expected.
        if let (Some(why), Some(ContextValue::String(flag))) =
            (error.source(), error.get(ContextKind::InvalidArg))
        {
            let name = flag.split(' ').next().unwrap_or_default();
            // An argument without a flag has no name that was typed.
            return if name.starts_with('-') { format!("{name}: {why}") } else { why.to_string() };
        }
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        let hint =
            |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
        let message = lines.filter(|line| !hint(line)).collect::<Vec<_>>().join(" ");
        format!("{message}{}", suggestion(error))
    }
}

/// A flag that both doors have, with the words of one: a line for `-h`, and what more the manual
/// says.
#[must_use]
pub fn reworded(flag: Arg, line: &str, more: &str) -> Arg {
    let long = if more.is_empty() { line.to_owned() } else { format!("{line}\n\n{more}") };
    flag.help(line.to_owned()).long_help(long)
}

/// Whether a flag was typed.
#[must_use]
pub fn is_given(flags: &ArgMatches, id: &str) -> bool {
    flags.value_source(id) == Some(ValueSource::CommandLine)
}

/// Checks that no policy that is a program has failed.
fn no_faults() -> anyhow::Result<()> {
    let (count, lines) = fairways_exec_policy::faults();
    match lines.first() {
        None => Ok(()),
        Some(first) if count == 1 => Err(anyhow::anyhow!("{first}")),
        Some(first) => Err(anyhow::anyhow!("{first} (the first of {count} failures)")),
    }
}

/// Clap's suggestion, as the end of a message.
fn suggestion(error: &clap::Error) -> String {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let suggested = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        // The one that is most alike comes last.
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    });
    suggested.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}
