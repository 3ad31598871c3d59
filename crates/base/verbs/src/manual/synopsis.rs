//! A page's synopsis. We write our own, because clap_mangen's shows flags without their values.

use clap::{Arg, ArgAction, Command};
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// Writes the arguments of a command, optional ones in brackets: `[-o|--out FILE]`, `FILE...`.
pub(super) fn section(command: &Command, page: &mut Roff) {
    let mut line = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    let mut flags: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_positional()).collect();
    // Required flags come last, before positional arguments.
    flags.sort_by_key(|arg| (arg.is_required_set(), arg.get_display_order()));
    let all = flags.into_iter().chain(command.get_positionals());
    for arg in all.filter(|arg| !arg.is_hide_set()) {
        let around = if arg.is_required_set() { ["", ""] } else { ["[", "]"] };
        line.extend([roman(" "), roman(around[0])]);
        flag(arg, &mut line);
        value(arg, &mut line);
        line.push(roman(around[1]));
        if repeats(arg) {
            line.push(roman("..."));
        }
    }
    if command.has_subcommands() {
        line.extend([roman(" "), italic("COMMAND")]);
    }
    page.control("SH", ["SYNOPSIS"]).text(line);
}

/// Writes the names of a flag: `-o|--out`.
fn flag(arg: &Arg, line: &mut Vec<Inline>) {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names = [short, long].into_iter().flatten();
    for (at, name) in names.enumerate() {
        if at > 0 {
            line.push(roman("|"));
        }
        line.push(bold(name));
    }
    if arg.is_last_set() {
        line.extend([bold("--"), roman(" ")]);
    }
}

/// Writes the name of its value.
fn value(arg: &Arg, line: &mut Vec<Inline>) {
    if !arg.get_action().takes_values() {
        return;
    }
    if !arg.is_positional() {
        line.push(roman(" "));
    }
    let names = arg.get_value_names().unwrap_or_default();
    line.push(italic(names.join(" ")));
}

/// Whether an argument may be given more than once.
fn repeats(arg: &Arg) -> bool {
    let several = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    matches!(arg.get_action(), ArgAction::Append) || several
}
