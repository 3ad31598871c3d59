//! The reference of all commands as one page of Markdown, for the documentation's site.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// The head of the page.
const HEAD: &str = "# Every command and flag\n\n\
    Every command with the long text of each flag, as one page to search. It is generated from the \
    definitions of the flags, so no flag is missing. By purpose: [what Fairways can be used for](uses.md).\n";

/// The page: every command with its usage, its arguments and its flags.
pub(super) fn page(command: &mut Command) -> String {
    let mut page = HEAD.to_owned();
    section(command, &mut page);
    page
}

/// A command's section, and the sections of its subcommands.
fn section(command: &mut Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(page, "\n## {name}\n\n{}\n\n```text\n{usage}\n```\n", paragraphs(&about));
    let arguments: Vec<&Arg> =
        command.get_arguments().filter(|argument| !argument.is_hide_set()).collect();
    if !arguments.is_empty() {
        page.push('\n');
    }
    for argument in arguments {
        item(argument, page);
    }
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        section(below, page);
    }
}

/// A flag or an argument, with its values and its default.
fn item(argument: &Arg, page: &mut String) {
    let name = if argument.is_positional() {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    } else {
        argument.to_string()
    };
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = prose(&help.map(ToString::to_string).unwrap_or_default());
    let (line, rest) = help.split_once("\n\n").unwrap_or((&help, ""));
    let _ = write!(page, "- {short}`{name}`: {line}");
    let defaults = argument.get_default_values();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults: Vec<String> =
            defaults.iter().map(|value| value.to_string_lossy().into_owned()).collect();
        let _ = write!(page, " [default: `{}`]", defaults.join(","));
    }
    page.push('\n');
    if !rest.is_empty() {
        let _ = writeln!(page, "\n  {}", rest.replace("\n\n", "\n\n  "));
    }
    for value in argument.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        if !argument.get_action().takes_values() || argument.is_hide_possible_values_set() {
            break;
        }
        let help = value.get_help().map(|help| format!(": {}", prose(&help.to_string())));
        let _ = writeln!(page, "  - `{}`{}", value.get_name(), help.unwrap_or_default());
    }
}

/// A text of clap's in Markdown, in paragraphs. The indented lines of a paragraph are commands.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| match paragraph.split_once("\n  ") {
        Some((head, commands)) => {
            format!("{}\n\n```sh\n{}\n```", prose(head), commands.replace("\n  ", "\n"))
        }
        None => prose(paragraph),
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// A text of clap's in Markdown. Outside of code, characters of tags and emphasis are escaped.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        if at % 2 == 1 {
            return part.to_owned();
        }
        part.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_").replace('|', "\\|")
    });
    parts.collect::<Vec<_>>().join("`")
}
