//! The commands that are the same in both doors.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

use super::explain::Explain;
use super::policies::Policies;
use super::replay::Replay;
use crate::Door;

/// A command that both doors have. Its help is written for `fairways`; [`Door::command`] puts the
/// door's own name there.
#[derive(Debug, Subcommand)]
#[expect(missing_docs)] // Help texts are at the flags.
pub enum CommonCommand {
    Explain(Explain),
    Replay(Replay),
    Policies(Policies),
    /// Start and end the programs of a policy, as standard input asks
    #[command(hide = true, name = fairways_exec_policy::KEEPER)]
    PolicyKeeper {
        /// The program and its arguments
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Give up every right, and become the program of a policy
    #[command(hide = true, name = fairways_exec_policy::CONFINED)]
    PolicyConfined {
        /// The program and its arguments
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Print a completion script for a shell
    ///
    /// Examples:
    ///   fairways completions bash > /usr/share/bash-completion/completions/fairways
    ///   fairways completions zsh > ~/.zfunc/_fairways
    ///   fairways completions fish > ~/.config/fish/completions/fairways.fish
    #[command(verbatim_doc_comment)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages to a folder, or print fairways(1)
    ///
    /// Examples:
    ///   fairways man | man -l -
    ///   fairways man ~/.local/share/man
    ///   fairways man /usr/local/share/man
    #[command(verbatim_doc_comment)]
    Man {
        /// The folder, in which the pages go to man1 and man5; created if missing [default: print
        /// fairways(1)]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Print all commands and flags as one page of Markdown instead
        #[arg(long, hide = true, conflicts_with = "dir")]
        markdown: bool,
    },
}

impl CommonCommand {
    /// Runs the command for a door.
    ///
    /// # Errors
    /// If it fails.
    pub fn run(self, door: &Door, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Self::Explain(explain) => fairways_record::explain::run(&explain.into(), out),
            Self::Replay(replay) => replay.run(out),
            Self::Policies(policies) => policies.run(out),
            Self::Completions { shell } => {
                clap_complete::generate(shell, &mut door.command(), door.name, out);
                Ok(())
            }
            Self::Man { markdown: true, .. } => {
                Ok(out.write_all(door.manual().markdown().as_bytes())?)
            }
            Self::Man { dir, .. } => door.manual().print(dir.as_deref(), out),
            // They have run already.
            Self::PolicyKeeper { .. } | Self::PolicyConfined { .. } => Ok(()),
        }
    }

    /// Runs a hidden command, which policies start; `None` for other commands.
    #[must_use]
    pub fn hidden(&self) -> Option<io::Result<()>> {
        match self {
            Self::PolicyKeeper { command } => Some(fairways_exec_policy::keep(command)),
            Self::PolicyConfined { command } => {
                Some(fairways_exec_policy::confine(command).map(|_| ()))
            }
            _ => None,
        }
    }
}
