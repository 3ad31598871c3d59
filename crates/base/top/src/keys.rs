//! The keys and their commands; the help page lists the same.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::source::PlayCommand;

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Quit,
    /// Leaves a page, or `top`.
    Leave,
    Help,
    /// Moves down by so many programs, or lines of a page.
    Move(i32),
    First,
    Last,
    /// Shows the decisions about the selected program.
    Why,
    /// Shows which program slows which.
    Blame,
    Sort,
    Metric,
    Domain,
    Play(PlayCommand),
}

/// The sources for which a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyScope {
    All,
    /// Sources that can be stepped through.
    Journal,
    /// All other sources.
    Others,
}

/// The help: keys, what they do, and for which sources.
pub(super) const HELP: [(&str, &str, KeyScope); 15] = [
    ("q, Esc, Ctrl-C", "quit; Esc leaves a page first", KeyScope::All),
    ("?", "this page", KeyScope::All),
    ("up, down, k, j", "select a program; scroll a page", KeyScope::All),
    ("PgUp, PgDn", "ten at a time", KeyScope::All),
    ("Enter", "all numbers of the program, and the decisions about it", KeyScope::All),
    ("b", "which program slows which, as the daemon estimates it", KeyScope::All),
    ("s", "sort by the next column", KeyScope::All),
    ("c", "history of IPC or MPKI", KeyScope::All),
    ("d", "the next domain", KeyScope::All),
    ("p, Space", "pause, and go on", KeyScope::All),
    ("+, -", "faster, slower", KeyScope::All),
    ("right, left", "to the next decision, to the one before", KeyScope::Journal),
    ("Home, End", "to the start, to the end", KeyScope::Journal),
    ("Home, g", "the first program, a page's first line", KeyScope::Others),
    ("End, G", "the last program, a page's last line", KeyScope::Others),
];

/// The command of a key.
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
        KeyCode::Char('b') => Command::Blame,
        KeyCode::Char('s') => Command::Sort,
        KeyCode::Char('c') => Command::Metric,
        KeyCode::Char('d') => Command::Domain,
        KeyCode::Char('p' | ' ') => Command::Play(PlayCommand::Pause),
        KeyCode::Char('+' | '=') => Command::Play(PlayCommand::Faster),
        KeyCode::Char('-' | '_') => Command::Play(PlayCommand::Slower),
        KeyCode::Right if journal => Command::Play(PlayCommand::Forward),
        KeyCode::Left if journal => Command::Play(PlayCommand::Back),
        KeyCode::Home if journal => Command::Play(PlayCommand::Start),
        KeyCode::End if journal => Command::Play(PlayCommand::End),
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
        fn code(name: &str) -> KeyCode {
            match name {
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
            }
        }
        for journal in [true, false] {
            let mut seen = Vec::new();
            for (keys, _, on) in HELP {
                if on == if journal { KeyScope::Others } else { KeyScope::Journal } {
                    continue;
                }
                for name in keys.split(", ") {
                    let control = name.starts_with("Ctrl-");
                    let code = if name == "G" { KeyCode::Char('G') } else { code(name) };
                    let held = if control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                    let does = command(KeyEvent::new(code, held), journal);
                    assert!(does.is_some(), "{name}");
                    if !seen.contains(&(keys, does)) {
                        assert!(seen.iter().all(|(_, command)| *command != does), "{name}");
                        seen.push((keys, does));
                    }
                }
            }
        }
        assert_eq!(command(KeyEvent::from(KeyCode::Char('x')), false), None);
    }
}
