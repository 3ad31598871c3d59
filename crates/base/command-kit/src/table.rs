//! The style of tables, and fitting them and the lines around them to the terminal.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, presets};

/// Lines between the header and the rows only.
pub const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// Whether tables of this process are whole, however narrow the terminal.
static WHOLE: AtomicBool = AtomicBool::new(false);

/// Keeps tables whole from now on: for tests of tables, which may run on any terminal.
pub fn keep_whole() {
    WHOLE.store(true, Ordering::Relaxed);
}

/// The table as text that fits the terminal. If it is too wide, the columns with these headers are
/// left out, in the order of `given_up`, and a line below the table names them. If that is not
/// enough, long cells are broken.
pub fn fit(table: Table, given_up: &[&str]) -> String {
    match columns() {
        Some(columns) => fit_to(table, given_up, columns),
        None => table.trim_fmt(),
    }
}

/// The terminal's width in columns: `COLUMNS`, or the terminal's own. `None` without
/// both.
pub fn columns() -> Option<u16> {
    if WHOLE.load(Ordering::Relaxed) {
        return None;
    }
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || {
        let stdout = std::io::stdout();
        let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(stdout).ok());
        size.flatten().map(|size| size.ws_col)
    };
    stated.or_else(terminal).filter(|&columns| columns > 0)
}

/// Lines as text that fits the terminal: each continues below itself, indented by `indent`. A word
/// that is longer stays whole.
pub fn fold(text: &str, indent: usize) -> String {
    match columns() {
        Some(columns) => fold_to(text, indent, columns.into()),
        None => text.to_owned(),
    }
}

/// The same for this many columns.
#[must_use]
pub fn fold_to(text: &str, indent: usize, columns: usize) -> String {
    let indent = indent.min(columns / 3);
    let mut folded = String::new();
    for line in text.split_inclusive('\n') {
        let (mut rest, mut room) = (line, columns);
        while let Some(end) = line_end(rest, room) {
            folded += rest[..end].trim_end();
            folded += &format!("\n{:indent$}", "");
            rest = rest[end..].trim_start_matches(' ');
            room = columns - indent;
        }
        folded += rest;
    }
    folded
}

/// Where to break a line with room for so many characters: at its last blank that has room,
/// otherwise at its first one. `None` if the line fits, or is one word.
fn line_end(line: &str, room: usize) -> Option<usize> {
    let text = line.trim_end();
    let (beyond, _) = text.char_indices().nth(room)?;
    let start = text.len() - text.trim_start().len();
    let end = if text[beyond..].starts_with(' ') { beyond + 1 } else { beyond };
    let with_room = text.get(start..end).and_then(|part| part.rfind(' '));
    with_room.or_else(|| text[start..].find(' ')).map(|at| start + at)
}

fn fit_to(mut table: Table, given_up: &[&str], columns: u16) -> String {
    let is_too_wide = |text: &str| {
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        widest > usize::from(columns)
    };
    let header: Vec<String> = table
        .header()
        .map(|row| row.cell_iter().map(|cell| cell.content()).collect())
        .unwrap_or_default();
    let mut text = table.trim_fmt();
    let mut gone: Vec<&str> = Vec::new();
    for &name in given_up {
        if !is_too_wide(&text) {
            break;
        }
        // A change in percent belongs to the column before it.
        let is_its = |place: usize| {
            header[place] == name || header[place] == "%" && place > 0 && header[place - 1] == name
        };
        let places: Vec<usize> = (0..header.len()).filter(|&place| is_its(place)).collect();
        for &place in &places {
            if let Some(column) = table.column_mut(place) {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        if !places.is_empty() {
            gone.push(name);
            text = table.trim_fmt();
        }
    }
    if is_too_wide(&text) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
        text = table.trim_fmt();
    }
    if !gone.is_empty() {
        let gone = format!("no room for {}; COLUMNS=200 shows all", gone.join(", "));
        text += "\n";
        text += &fold_to(&gone, 2, columns.into());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new();
        table.load_style(STYLE).set_header(["program", "ways", "MPKI", "%", "IPC", "%"]);
        table.add_row(["a-program-with-a-name", "3", "7.50", "+1.0", "0.75", "-2.0"]);
        table
    }

    #[test]
    fn lines_continue_below_themselves() {
        let text = "   1 s  web: sensitive (few ways slow it down)\nno more\n";
        assert_eq!(fold_to(text, 8, 80), text);
        let folded = "   1 s  web: sensitive\n        (few ways slow it\n        down)\nno more\n";
        assert_eq!(fold_to(text, 8, 26), folded);
        assert_eq!(fold_to("a-long-word and another", 2, 5), "a-long-word\n and\n another");
        assert_eq!(fold_to("  a-long-word", 2, 5), "  a-long-word");
        for columns in 24..60 {
            let folded = fold_to(text, 8, columns);
            assert!(folded.lines().all(|line| line.chars().count() <= columns), "{folded}");
            let words: Vec<_> = folded.split_whitespace().collect();
            assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_are_given_up_until_the_rest_fits_and_that_is_said() {
        let whole = table().trim_fmt();
        assert_eq!(fit_to(table(), &["MPKI", "ways"], 80), whole);
        let narrow = fit_to(table(), &["MPKI", "ways"], 50);
        assert!(narrow.contains("-2.0") && !narrow.contains("+1.0"), "{narrow}");
        assert!(narrow.contains("no room for MPKI; COLUMNS=200 shows all"), "{narrow}");
        let narrower = fit_to(table(), &["MPKI", "ways"], 32);
        assert!(narrower.contains("no room for MPKI, ways"), "{narrower}");
        for columns in 24..90 {
            let text = fit_to(table(), &["MPKI", "ways"], columns);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.into(), "{columns}: {text}");
        }
    }
}
