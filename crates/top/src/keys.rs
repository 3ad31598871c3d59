//! The keys, and what they do: told in the help as they are here.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::source::Play;

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Quit,
    /// Leave a page, or the view.
    Leave,
    Help,
    /// Of the programs, or of a page's lines: so many down.
    Move(i32),
    First,
    Last,
    /// The chain of decisions of the selected program.
    Why,
    Sort,
    Metric,
    Domain,
    Play(Play),
}

/// Of which sources a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    All,
    /// One that can be stepped through.
    Journal,
    /// Those that cannot.
    Others,
}

/// Keys as the help has them, what they do, and of what.
pub(super) const HELP: [(&str, &str, On); 14] = [
    ("q, Esc, Ctrl-C", "quit; Esc leaves a page first", On::All),
    ("?", "this page", On::All),
    ("up, down, k, j", "select a program; scroll a page", On::All),
    ("PgUp, PgDn", "ten at a time", On::All),
    ("Enter", "all numbers of the program, and the decisions about it", On::All),
    ("s", "sort by the next column", On::All),
    ("c", "history of IPC or MPKI", On::All),
    ("d", "the next domain", On::All),
    ("p, Space", "pause, and go on", On::All),
    ("+, -", "faster, slower", On::All),
    ("right, left", "to the next decision, to the one before", On::Journal),
    ("Home, End", "to the start, to the end", On::Journal),
    ("Home, g", "the first program, a page's first line", On::Others),
    ("End, G", "the last program, a page's last line", On::Others),
];

/// What a key asks for.
pub(super) fn command(key: KeyEvent, journal: bool) -> Option<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c')).then_some(Command::Quit);
    }
    Some(match key.code {
        KeyCode::Char('q') => Command::Quit,
        KeyCode::Esc => Command::Leave,
        KeyCode::Char('?' | 'h') => Command::Help,
        KeyCode::Up | KeyCode::Char('k') => Command::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Command::Move(1),
        KeyCode::PageUp => Command::Move(-10),
        KeyCode::PageDown => Command::Move(10),
        KeyCode::Enter => Command::Why,
        KeyCode::Char('s') => Command::Sort,
        KeyCode::Char('c') => Command::Metric,
        KeyCode::Char('d') => Command::Domain,
        KeyCode::Char('p' | ' ') => Command::Play(Play::Pause),
        KeyCode::Char('+' | '=') => Command::Play(Play::Faster),
        KeyCode::Char('-' | '_') => Command::Play(Play::Slower),
        KeyCode::Right if journal => Command::Play(Play::Forward),
        KeyCode::Left if journal => Command::Play(Play::Back),
        KeyCode::Home if journal => Command::Play(Play::Start),
        KeyCode::End if journal => Command::Play(Play::End),
        KeyCode::Home | KeyCode::Char('g') => Command::First,
        KeyCode::End | KeyCode::Char('G') => Command::Last,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_help_does_something_and_no_two_the_same() {
        let code = |name: &str| match name {
            "Esc" => KeyCode::Esc,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "PgUp" => KeyCode::PageUp,
            "PgDn" => KeyCode::PageDown,
            "Home" => KeyCode::Home,
            "End" => KeyCode::End,
            "Enter" => KeyCode::Enter,
            "Space" => KeyCode::Char(' '),
            name => KeyCode::Char(name.trim_start_matches("Ctrl-").to_lowercase().remove(0)),
        };
        for journal in [true, false] {
            let mut seen = Vec::new();
            for (keys, _, on) in HELP {
                if on == if journal { On::Others } else { On::Journal } {
                    continue;
                }
                for name in keys.split(", ") {
                    let control = name.starts_with("Ctrl-");
                    let code = if name == "G" { KeyCode::Char('G') } else { code(name) };
                    let held = if control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                    let does = command(KeyEvent::new(code, held), journal);
                    assert!(does.is_some(), "{name}");
                    if !seen.contains(&(keys, does)) {
                        assert!(seen.iter().all(|(_, of)| *of != does), "{name}");
                        seen.push((keys, does));
                    }
                }
            }
        }
        assert_eq!(command(KeyEvent::from(KeyCode::Char('x')), false), None);
    }
}
