//! A terminal that goes away, or is not read: `top` ends, and uses no CPU time until then.

use std::time::Duration;

use rustix::process::Signal;

use super::terminal::Terminal;

const JOURNAL: [&str; 4] =
    ["--journal", "../../base/record/tests/data/run.journal", "--speed", "0.001"];

/// A screen or two in a debug build take a tenth of this CPU time; a loop that spins reaches it.
const LITTLE: Duration = Duration::from_secs(5);

/// Interrupted.
const CODE: Option<i32> = Some(130);

#[test]
fn a_terminal_that_hangs_up_ends_it() {
    // With SIGHUP, and without: then only the end of the input shows it.
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
        // It may have noticed either first.
        assert_eq!(code, CODE);
        assert!(busy < LITTLE, "{busy:?}");
    }
}

#[test]
fn signals_end_it_while_its_output_is_not_read() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = Terminal::start(&JOURNAL, true);
        terminal.shows("lfoc  journal");
        terminal.stop_reading();
        // Page after page, until the terminal accepts no more of them.
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
