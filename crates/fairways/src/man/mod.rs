//! `fairways man`: the manual pages, of what `--help` and docs/config.md say.

mod config;
mod markdown;
mod synopsis;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use fairways_command_kit::exit;

use crate::args::Args;

/// When what is described was last changed; nothing where no git told.
const DATE: &str = env!("FAIRWAYS_DATE");

/// What the middle of a page's head says.
const MANUAL: &str = "Fairways Manual";

const FILES: [(&str, &str); 6] = [
    ("/etc/fairways/fairways.toml", "The configuration of the daemon, fairways.toml(5)."),
    ("/etc/fairways/fairways.toml.d/*.toml", "Read on top of it, in the order of their names."),
    ("/usr/share/fairways/fairways.toml", "What holds if there is no configuration in /etc."),
    ("/var/lib/fairways", "What the daemon has changed, so that it can be put back."),
    ("/run/fairways/fairways.sock", "Where the daemon is asked."),
    ("/sys/fs/resctrl", "The kernel's resctrl, through which ways are given."),
];

/// One page.
pub(crate) struct Page {
    /// Its file's name: `fairways-run.1`.
    pub(crate) name: String,
    /// Its source, in man(7).
    pub(crate) text: String,
}

/// Runs the command: all pages into `man1` and `man5` of a folder, as man(1) has them, or fairways(1) as it is.
pub(crate) fn run(dir: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    let pages = pages()?;
    let Some(dir) = dir else {
        let first = pages.iter().find(|page| page.name == "fairways.1");
        return Ok(out.write_all(first.map_or("", |page| &page.text).as_bytes())?);
    };
    for page in pages {
        let section = page.name.rsplit('.').next().unwrap_or_default();
        let dir = dir.join(format!("man{section}"));
        fs::create_dir_all(&dir).with_context(|| format!("{}: can't make it", dir.display()))?;
        let file = dir.join(&page.name);
        fs::write(&file, page.text)
            .with_context(|| format!("{}: can't write it", file.display()))?;
    }
    Ok(())
}

/// Prints the reference of all commands as Markdown, for the documentation's site.
pub(crate) fn print_markdown(out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(out.write_all(markdown::page(&mut built()).as_bytes())?)
}

/// The command line, with all that clap derives of it.
fn built() -> clap::Command {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    command
}

/// All pages: of the command, of its subcommands, and of the configuration.
pub(crate) fn pages() -> anyhow::Result<Vec<Page>> {
    let command = built();
    let mut pages = Vec::new();
    of(&command, None, &mut pages)?;
    pages.push(Page { name: "fairways.toml.5".to_owned(), text: config::page() });
    Ok(pages)
}

/// A command's page, and those of what is below it.
fn of(command: &clap::Command, above: Option<&str>, pages: &mut Vec<Page>) -> anyhow::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let below = || command.get_subcommands().filter(|below| !below.is_hide_set());
    let man = Man::new(command.clone()).title(&name).date(DATE).source(source()).manual(MANUAL);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    let mut usage = Roff::new();
    synopsis::section(command, &mut usage);
    usage.to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if below().next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::new();
    exit_status(command, &mut rest);
    if above.is_none() || ["run", "config", "restore"].contains(&command.get_name()) {
        files(&mut rest);
    }
    let mut also: Vec<String> = above.map(|above| format!("{above}(1)")).into_iter().collect();
    also.extend(below().filter_map(|below| Some(format!("{}(1)", below.get_display_name()?))));
    also.push("fairways.toml(5)".to_owned());
    see_also(&also, &mut rest);
    rest.to_writer(&mut text)?;
    pages.push(Page { name: format!("{name}.1"), text: tidy(&String::from_utf8(text)?) });
    below().try_for_each(|below| of(below, Some(&name), pages))
}

/// Where the page is from: `fairways 0.1.0`.
fn source() -> String {
    format!("fairways {}", env!("CARGO_PKG_VERSION"))
}

/// `Exit codes: 0 done, 1 failed, ...`, as a command's own help or that of all says it.
fn exit_status(command: &clap::Command, page: &mut Roff) {
    page.control("SH", ["EXIT STATUS"]);
    let said = command.get_after_help().map_or(exit::HELP.to_owned(), ToString::to_string);
    let codes = said.trim_start_matches("Exit codes: ").split(", ");
    for (code, meaning) in codes.filter_map(|part| part.split_once(' ')) {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
}

fn files(page: &mut Roff) {
    page.control("SH", ["FILES"]);
    for (path, what) in FILES {
        page.control("TP", []).text([bold(path)]).text([roman(what)]);
    }
}

fn see_also(pages: &[String], page: &mut Roff) {
    page.control("SH", ["SEE ALSO"]).text([roman(pages.join(", "))]);
    page.control("PP", []);
    page.text([roman("What is called docs/*.md, or *.md, is in /usr/share/doc/fairways/docs.")]);
}

/// Without what mandoc(1) finds superfluous, but for examples, which stay as they are: a paragraph after a heading, breaks beside breaks, blanks at the ends of lines.
fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut example = false;
    for line in text.lines().map(str::trim_end) {
        example = (example || line == ".EX") && line != ".EE";
        let before = lines.last().copied().unwrap_or_default();
        let again = line == ".br" && before == ".br";
        if (line.is_empty() && !example) || again || (line == ".PP" && before.starts_with(".SH ")) {
            continue;
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}
