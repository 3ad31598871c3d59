//! Reads keys from the terminal itself: a terminal that is gone is noticed at once.
//!
//! crossterm's own reader takes end-of-file for an interruption and reads again for ever.

use std::io::stdin;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

const ESCAPE: u8 = 0x1b;

/// No key's sequence is as long as this.
const LONGEST: usize = 32;

/// What came from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    Nothing,
    Key(KeyEvent),
    /// The terminal hung up: nothing more comes.
    HungUp,
}

/// The terminal's keys, in raw mode.
#[derive(Default)]
pub(super) struct Keyboard {
    /// Bytes that do not make a key yet.
    bytes: Vec<u8>,
}

impl Keyboard {
    /// Waits for the next key, for `patience` at most.
    pub(super) fn wait(&mut self, patience: Duration) -> Input {
        if let Some(key) = self.next() {
            return Input::Key(key);
        }
        match ready(patience) {
            Ok(false) => return self.give_up().map_or(Input::Nothing, Input::Key),
            Ok(true) => {}
            Err(HungUp) => return Input::HungUp,
        }
        let mut bytes = [0; 256];
        match read(stdin(), &mut bytes) {
            Ok(0) => Input::HungUp,
            Ok(count) => {
                self.bytes.extend_from_slice(&bytes[..count]);
                self.next().map_or(Input::Nothing, Input::Key)
            }
            Err(Errno::INTR | Errno::AGAIN) => Input::Nothing,
            Err(_) => Input::HungUp,
        }
    }

    /// The first complete key.
    fn next(&mut self) -> Option<KeyEvent> {
        while let Some((length, key)) = first(&self.bytes) {
            self.bytes.drain(..length);
            if key.is_some() {
                return key;
            }
        }
        if self.bytes.len() > LONGEST {
            self.bytes.clear();
        }
        None
    }

    /// Nothing more came: an escape by itself is the key Esc.
    fn give_up(&mut self) -> Option<KeyEvent> {
        let begun = std::mem::take(&mut self.bytes);
        (begun == [ESCAPE]).then(|| KeyCode::Esc.into())
    }
}

/// The terminal is gone.
#[derive(Debug)]
pub(super) struct HungUp;

/// Whether there is something to read, after `patience` at most.
pub(super) fn ready(patience: Duration) -> Result<bool, HungUp> {
    let input = stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    match poll(&mut polled, patience.as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(false),
        Ok(_) => {}
        Err(_) => return Err(HungUp),
    }
    let came = polled[0].revents();
    if came.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(HungUp);
    }
    Ok(true)
}

/// The first key, or an unknown sequence as `None`, and its length in bytes; `None` if its end is
/// missing.
fn first(bytes: &[u8]) -> Option<(usize, Option<KeyEvent>)> {
    match *bytes {
        [] | [ESCAPE] | [ESCAPE, b'[' | b'O'] => None,
        [ESCAPE, b'[', ref rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((end + 3, control_sequence(&rest[..end], rest[end])))
        }
        [ESCAPE, b'O', last, ..] => Some((3, control_sequence(&[], last))),
        [ESCAPE, ESCAPE, ..] => Some((1, Some(KeyCode::Esc.into()))),
        [ESCAPE, byte, ..] => Some((2, plain(byte))),
        [byte, ..] => Some((1, plain(byte))),
    }
}

/// The key of a single byte.
fn plain(byte: u8) -> Option<KeyEvent> {
    match byte {
        b'\r' => Some(KeyCode::Enter.into()),
        0x03 => Some(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)),
        b' '..=b'~' => Some(KeyCode::Char(char::from(byte)).into()),
        _ => None,
    }
}

/// The key of a control sequence (ECMA-48 5.4) with these parameters and this last byte.
fn control_sequence(parameters: &[u8], last: u8) -> Option<KeyEvent> {
    let mut parameters = parameters.split(|&byte| byte == b';');
    let number = parameters.next()?;
    // xterm's modifiers are one more than a sum, in which Control is four. No command uses it.
    let modifiers = parameters.next().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    if modifiers.is_some_and(|sum: u32| sum.saturating_sub(1) & 4 != 0) {
        return None;
    }
    let code = match (last, number) {
        (b'A', _) => KeyCode::Up,
        (b'B', _) => KeyCode::Down,
        (b'C', _) => KeyCode::Right,
        (b'D', _) => KeyCode::Left,
        (b'H', _) | (b'~', b"1" | b"7") => KeyCode::Home,
        (b'F', _) | (b'~', b"4" | b"8") => KeyCode::End,
        (b'~', b"5") => KeyCode::PageUp,
        (b'~', b"6") => KeyCode::PageDown,
        _ => return None,
    };
    Some(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<KeyCode> {
        let mut keyboard = Keyboard { bytes: bytes.to_vec() };
        let mut keys: Vec<_> = std::iter::from_fn(|| keyboard.next()).collect();
        keys.extend(keyboard.give_up());
        keys.into_iter().map(|key| key.code).collect()
    }

    #[test]
    fn keys_are_recognised_by_what_terminals_send() {
        use KeyCode::{Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Up};
        assert_eq!(keys(b"q ?\r"), [Char('q'), Char(' '), Char('?'), Enter]);
        assert_eq!(keys(b"\x1b[A\x1b[B\x1b[C\x1b[D"), [Up, Down, Right, Left]);
        assert_eq!(keys(b"\x1bOA\x1bOH\x1bOF"), [Up, Home, End]);
        assert_eq!(keys(b"\x1b[1~\x1b[4~\x1b[7~\x1b[8~"), [Home, End, Home, End]);
        assert_eq!(keys(b"\x1b[5~\x1b[6~\x1b[3~\x1b[15~"), [PageUp, PageDown]);
        assert_eq!(keys(b"\x1b[1;2A\x1b[1;5A\x1b[5;5~"), [Up]);
        assert_eq!(keys(b"\x1b"), [Esc]);
        assert_eq!(keys(b"\x1b\x1b"), [Esc, Esc]);
        assert_eq!(keys(b"\x1bq\x01\xc3\xa9s"), [Char('q'), Char('s')]);
        let control_c = Keyboard { bytes: vec![3] }.next();
        assert_eq!(control_c, Some(KeyEvent::new(Char('c'), KeyModifiers::CONTROL)));
    }

    #[test]
    fn a_sequence_may_come_in_pieces_and_one_without_an_end_is_forgotten() {
        let mut keyboard = Keyboard::default();
        for piece in [&b"\x1b"[..], b"[", b"5"] {
            keyboard.bytes.extend_from_slice(piece);
            assert_eq!(keyboard.next(), None);
        }
        keyboard.bytes.push(b'~');
        assert_eq!(keyboard.next(), Some(KeyCode::PageUp.into()));
        keyboard.bytes = [b"\x1b[".as_slice(), &[b'1'; 1000]].concat();
        assert_eq!(keyboard.next(), None);
        assert!(keyboard.bytes.is_empty());
    }
}
