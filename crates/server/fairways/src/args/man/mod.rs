//! `fairways man`: the manual of this command line.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use fairways_verbs::manual::Manual;

use super::{EXAMPLES, command};

/// The date of the last commit; empty for a build without git.
const DATE: &str = env!("FAIRWAYS_DATE");

/// Runs the command: writes all pages to a folder, or prints fairways(1).
pub(crate) fn run(dir: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    manual().print(dir, out)
}

/// Prints the reference of all commands as Markdown, for the documentation's site.
pub(crate) fn print_markdown(out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(out.write_all(manual().markdown().as_bytes())?)
}

fn manual() -> Manual {
    Manual::new(command(), EXAMPLES, DATE)
}
