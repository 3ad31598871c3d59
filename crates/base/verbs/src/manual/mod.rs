//! The manual: pages for man(1) and a page of all commands, made from the help texts and
//! docs/config.md.

mod config;
mod markdown;
mod synopsis;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use fairways_command_kit::exit;

/// The text in the middle of a page's head.
const MANUAL: &str = "Fairways Manual";

const FILES: [(&str, &str); 6] = [
    ("/etc/fairways/fairways.toml", "The configuration of the daemon, fairways.toml(5)."),
    ("/etc/fairways/fairways.toml.d/*.toml", "Read on top of it, in the order of their names."),
    ("/usr/share/fairways/fairways.toml", "Used if there is no configuration in /etc."),
    ("/var/lib/fairways", "The daemon's changes, so that they can be undone."),
    ("/run/fairways/fairways.sock", "The daemon's control socket."),
    ("/sys/fs/resctrl", "The kernel's resctrl, through which ways are assigned."),
];

/// One page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Name of its file: `fairways-run.1`.
    pub name: String,
    /// Its source, in man(7).
    pub text: String,
}

/// The manual of a command line.
#[derive(Clone, Debug)]
pub struct Manual {
    command: clap::Command,
    examples: &'static str,
    date: &'static str,
}

impl Manual {
    /// The manual of this command line, with examples for it as a whole, and the date of the last
    /// commit; the date is empty for a build without git.
    #[must_use]
    pub fn new(command: clap::Command, examples: &'static str, date: &'static str) -> Self {
        let mut command = command.disable_help_subcommand(true);
        // Adds everything that clap derives.
        command.build();
        Self { command, examples, date }
    }

    /// Writes all pages to `man1` and `man5` of a folder, where man(1) looks for them, or prints
    /// the door's own.
    ///
    /// # Errors
    /// If a page can't be made or written.
    pub fn print(&self, dir: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
        let pages = self.pages()?;
        let Some(dir) = dir else {
            let first =
                pages.iter().find(|page| page.name == format!("{}.1", self.command.get_name()));
            return Ok(out.write_all(first.map_or("", |page| &page.text).as_bytes())?);
        };
        for page in pages {
            let section = page.name.rsplit('.').next().unwrap_or_default();
            let dir = dir.join(format!("man{section}"));
            fs::create_dir_all(&dir)
                .with_context(|| format!("{}: can't make it", dir.display()))?;
            let file = dir.join(&page.name);
            fs::write(&file, page.text)
                .with_context(|| format!("{}: can't write it", file.display()))?;
        }
        Ok(())
    }

    /// The reference of all commands as Markdown, for the documentation's site.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::page(&mut self.command.clone())
    }

    /// All pages: for the command, its subcommands, and the configuration.
    ///
    /// # Errors
    /// If a page can't be made.
    pub fn pages(&self) -> anyhow::Result<Vec<Page>> {
        let mut pages = Vec::new();
        self.add_pages(&self.command, None, &mut pages)?;
        if self.has_configuration() {
            let text = config::page(self.date);
            pages.push(Page { name: "fairways.toml.5".to_owned(), text });
        }
        Ok(pages)
    }

    /// Whether the door reads the daemon's configuration.
    fn has_configuration(&self) -> bool {
        self.command.find_subcommand("config").is_some()
    }

    /// Adds a command's page, and those of its subcommands.
    fn add_pages(
        &self,
        command: &clap::Command,
        above: Option<&str>,
        pages: &mut Vec<Page>,
    ) -> anyhow::Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let below = || command.get_subcommands().filter(|below| !below.is_hide_set());
        let man =
            Man::new(command.clone()).title(&name).date(self.date).source(source()).manual(MANUAL);
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
        let is_about_files =
            above.is_none() || ["run", "config", "restore"].contains(&command.get_name());
        if self.has_configuration() && is_about_files {
            files(&mut rest);
        }
        if above.is_none() {
            examples(self.examples, &mut rest);
        }
        let mut also: Vec<String> = above.map(|above| format!("{above}(1)")).into_iter().collect();
        also.extend(below().filter_map(|below| Some(format!("{}(1)", below.get_display_name()?))));
        if self.has_configuration() {
            also.push("fairways.toml(5)".to_owned());
        }
        see_also(&also, self.command.get_name(), &mut rest);
        rest.to_writer(&mut text)?;
        pages.push(Page { name: format!("{name}.1"), text: tidy(&String::from_utf8(text)?) });
        below().try_for_each(|below| self.add_pages(below, Some(&name), pages))
    }
}

/// The source of a page, for its foot: `fairways 0.1.0`.
fn source() -> String {
    format!("fairways {}", env!("CARGO_PKG_VERSION"))
}

/// Lists the exit codes from the line `Exit codes: 0 done, 1 failed, ...` at the end of a command's
/// help, or by default of all commands' help.
fn exit_status(command: &clap::Command, page: &mut Roff) {
    page.control("SH", ["EXIT STATUS"]);
    let help = command.get_after_help().map_or(exit::HELP.to_owned(), ToString::to_string);
    let (_, codes) = help.rsplit_once("Exit codes: ").unwrap_or_default();
    for (code, meaning) in codes.split(", ").filter_map(|part| part.split_once(' ')) {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
}

fn files(page: &mut Roff) {
    page.control("SH", ["FILES"]);
    for (path, what) in FILES {
        page.control("TP", []).text([bold(path)]).text([roman(what)]);
    }
}

/// Shows the examples of the command line as a whole.
fn examples(examples: &str, page: &mut Roff) {
    page.control("SH", ["EXAMPLES"]).control("EX", []);
    for line in examples.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
}

fn see_also(pages: &[String], name: &str, page: &mut Roff) {
    page.control("SH", ["SEE ALSO"]).text([roman(pages.join(", "))]);
    page.control("PP", []);
    page.text([roman(format!(
        "Pages called docs/*.md or *.md are in /usr/share/doc/{name}/docs."
    ))]);
}

/// Removes what mandoc(1) finds superfluous: a paragraph right after a heading, repeated breaks,
/// blanks at ends of lines, and blank lines except in examples.
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
