//! Any bytes at the daemon's sockets, on either side.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use fairways_command_kit::plain::Plain;
use fairways_core::is_plain;
use fairways_record::client::Response;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::control::attend;
use super::report;

/// Sends any bytes to the control socket as a client. Each answer is a line of JSON, and an error
/// if the line was no request.
pub(crate) fn request(bytes: &[u8]) {
    // No more than the socket's buffer takes before anything is read.
    let bytes = &bytes[..bytes.len().min(1 << 14)];
    let (mut client, server) = UnixStream::pair().expect("two sockets");
    client.write_all(bytes).expect("room for it");
    client.shutdown(Shutdown::Write).expect("it is open");
    let answers = std::thread::spawn(move || {
        let mut text = String::new();
        // The server may close the connection before it has read everything.
        let _ = client.read_to_string(&mut text);
        text
    });
    let _ = attend(&server, &Mutex::new(MachineRecord::default()));
    drop(server);
    let text = answers.join().expect("it reads");
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    for line in text.lines() {
        let answer: Response = serde_json::from_str(line).expect("an answer");
        if let Response::Error(why) = answer {
            assert!(why.starts_with("expected "), "{why}");
        }
    }
}

/// Sends any bytes to the metrics' port as a client.
pub(crate) fn scrape(bytes: &[u8]) {
    super::metrics::fuzzed(bytes);
}

/// Shows any bytes as the answer of a false daemon. What is shown does nothing to a terminal.
pub(crate) fn answer(bytes: &[u8]) {
    let Ok(Response::Status(status)) = serde_json::from_slice(bytes) else { return };
    let mut shown = Vec::new();
    // Standard output is written through the same filter.
    let mut out = Plain::new(&mut shown);
    report::print(&status, false, &mut out).expect("a vector takes everything");
    let shown = String::from_utf8(shown).expect("text");
    let hostile = shown.chars().find(|&letter| !is_plain(letter) && letter != '\n');
    assert_eq!(hostile, None, "{shown:?}");
}
