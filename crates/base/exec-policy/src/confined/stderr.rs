//! What a policy's program writes on standard error, beside the daemon's own lines.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use fairways_core::plain;

use crate::check::LONGEST_TEXT;

/// The most lines shown in a span of [`SPAN`].
const MOST_LINES: u32 = 20;

const SPAN: Duration = Duration::from_secs(10);

/// Passes lines on until the program has closed its end: plain, cut short, at most [`MOST_LINES`]
/// in a span of [`SPAN`], and each with the policy's name, so that it can't pass for the daemon's.
pub(super) fn pass_on(
    mut from: impl BufRead,
    to: &mut impl Write,
    name: &str,
    mut now: impl FnMut() -> Instant,
) {
    let mut began = now();
    let (mut shown, mut left_out) = (0, 0_u64);
    let mut line = Vec::new();
    while read_line(&mut from, &mut line) {
        let at = now();
        if at.duration_since(began) >= SPAN {
            (began, shown) = (at, 0);
        }
        if shown == MOST_LINES {
            left_out += 1;
            continue;
        }
        shown += 1;
        report_left_out(to, name, &mut left_out);
        show(to, name, &String::from_utf8_lossy(&line));
        if shown == MOST_LINES {
            let rest = SPAN.saturating_sub(at.duration_since(began));
            show(
                to,
                name,
                &format!("({MOST_LINES} lines in {SPAN:?}: none is shown for {rest:.0?})"),
            );
        }
    }
    report_left_out(to, name, &mut left_out);
}

/// Shows a text as a line, in one piece: the daemon writes there, too.
fn show(to: &mut impl Write, name: &str, text: &str) {
    let line = plain(&format!("{name}: stderr: {text}"));
    // If nothing can be shown, the policy goes on.
    let _ = to.write_all(format!("{line}\n").as_bytes());
}

fn report_left_out(to: &mut impl Write, name: &str, count: &mut u64) {
    match std::mem::take(count) {
        0 => {}
        count => {
            show(to, name, &format!("{count} lines left out (at most {MOST_LINES} in {SPAN:?})"))
        }
    }
}

/// Reads a line, without its end and what is too long of it. False at the end.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    let mut has_begun = false;
    loop {
        let piece = match from.fill_buf() {
            Ok([]) => return has_begun,
            Ok(piece) => piece,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return has_begun,
        };
        has_begun = true;
        let end = piece.iter().position(|&byte| byte == b'\n');
        let text = &piece[..end.unwrap_or(piece.len())];
        line.extend_from_slice(&text[..text.len().min(LONGEST_TEXT - line.len())]);
        let used = text.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of this, if `clock` gives the seconds at which it is read.
    fn shown(text: &[u8], clock: impl IntoIterator<Item = u64>) -> String {
        let (start, mut clock) = (Instant::now(), clock.into_iter());
        let mut to = Vec::new();
        // Small pieces, as a pipe may bring them.
        let from = std::io::BufReader::with_capacity(7, text);
        pass_on(from, &mut to, "exec:a", || start + Duration::from_secs(clock.next().unwrap()));
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn lines_are_plain_short_and_named() {
        let text = b"one\n\nINFO \x1b[2J\xfftwo";
        let expected =
            "exec:a: stderr: one\nexec:a: stderr: \nexec:a: stderr: INFO \\u001b[2J\u{fffd}two\n";
        assert_eq!(shown(text, [0; 4]), expected);
        let long = [&[b'x'; 5000][..], b"\ny\n"].concat();
        let expected = format!("exec:a: stderr: {}\nexec:a: stderr: y\n", "x".repeat(1000));
        assert_eq!(shown(&long, [0; 3]), expected);
        assert_eq!(shown(b"", [0]), "");
    }

    #[test]
    fn a_flood_is_counted() {
        // Thirty lines at once, one after the span; then thirty again.
        let clock = [0; 31].into_iter().chain([10; 31]);
        let found = shown(&b"a\n".repeat(61), clock);
        let pause = "exec:a: stderr: (20 lines in 10s: none is shown for 10s)\n";
        let mut expected = "exec:a: stderr: a\n".repeat(20) + pause;
        expected += "exec:a: stderr: 10 lines left out (at most 20 in 10s)\n";
        expected += &"exec:a: stderr: a\n".repeat(20);
        expected += pause;
        expected += "exec:a: stderr: 11 lines left out (at most 20 in 10s)\n";
        assert_eq!(found, expected);
    }
}
