//! Any bytes at the daemon's sockets, on either side.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use fairways_command_kit::plain::Plain;
use fairways_core::is_plain;
use fairways_record::client::Response;

use super::control::{Served, attend};
use super::losses::{DaemonLosses, SharedLosses};
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
    let losses = SharedLosses::new(DaemonLosses::default(), Arc::default());
    let _ = attend(&server, &Served { losses: Some(losses), ..Served::default() });
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
    let Ok(response) = serde_json::from_slice(bytes) else { return };
    let mut shown = Vec::new();
    // Standard output is written through the same filter.
    let mut out = Plain::new(&mut shown);
    match response {
        Response::Status(status) => report::print(&status, false, &mut out).map_err(Into::into),
        Response::Blame(reports) => {
            reports.iter().try_for_each(|report| report.print(false, &mut out))
        }
        Response::Decisions(_) | Response::Error(_) => return,
    }
    .expect("a vector takes everything");
    let shown = String::from_utf8(shown).expect("text");
    let hostile = shown.chars().find(|&letter| !is_plain(letter) && letter != '\n');
    assert_eq!(hostile, None, "{shown:?}");
}
