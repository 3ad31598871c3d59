//! A terminal that goes away, or is not read: `top` ends, and takes no processor until then.

use std::time::Duration;

use rustix::process::Signal;

use super::terminal::Terminal;

const JOURNAL: [&str; 4] = ["--journal", "tests/data/run.journal", "--speed", "0.001"];

/// A screen or two in a debug build take a tenth of this; a loop that spins takes it in this time.
const LITTLE: Duration = Duration::from_secs(5);

/// Interrupted.
const CODE: Option<i32> = Some(130);

#[test]
fn a_terminal_that_hangs_up_ends_it() {
    // With the signal that comes of it, and without: the end of what can be read has to do.
    for start in [|| Terminal::start(&JOURNAL, true), || Terminal::without_signals(&JOURNAL)] {
        let terminal = start();
        terminal.shows("lfoc  journal");
        let (code, busy) = terminal.hang_up().ended();
        assert_eq!(code, CODE);
        assert!(busy < LITTLE, "{busy:?}");
    }
}

#[test]
fn signals_end_it_after_its_terminal_is_gone() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let terminal = Terminal::without_signals(&JOURNAL);
        terminal.shows("lfoc  journal");
        let gone = terminal.hang_up();
        gone.signal(signal);
        let (code, busy) = gone.ended();
        // It may have seen either first.
        assert_eq!(code, CODE);
        assert!(busy < LITTLE, "{busy:?}");
    }
}

#[test]
fn signals_end_it_while_nobody_reads_what_it_writes() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = Terminal::start(&JOURNAL, true);
        terminal.shows("lfoc  journal");
        terminal.stop_reading();
        // Pages in turn, until the terminal takes no more of them.
        for _ in 0..200 {
            terminal.press("?");
            std::thread::sleep(Duration::from_millis(2));
        }
        terminal.signal(signal);
        let (code, busy) = terminal.ended();
        assert_eq!(code, CODE);
        assert!(busy < LITTLE, "{busy:?}");
        assert!(!terminal.taken()[2], "keys are still read as they are pressed");
    }
}
