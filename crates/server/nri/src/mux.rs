//! Several connections over one socket, as NRI's pkg/net/multiplex has them.
//!
//! A frame is a connection's number, the length of what follows, both 32 bits and big-endian, and
//! that many bytes. Frames are not messages: a message may come in several.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use crate::ttrpc::{HEADER, LONGEST, Message, MessageHeader};

/// The connection on which the plugin answers the runtime, and the one on which the runtime
/// answers the plugin.
pub(crate) const PLUGIN: u32 = 1;
pub(crate) const RUNTIME: u32 = 2;

/// The most bytes of a frame that is sent. NRI's side can't read a longer frame that begins a
/// message: its buffer has 4096 bytes, and the plugin is dropped with ENOMEM.
const MOST_SENT: usize = 4096;

/// The most bytes of a frame that is read: the longest message with its header (mux.go).
const MOST_READ: usize = LONGEST + HEADER;

/// Messages, as they come out of frames.
#[derive(Debug)]
pub(crate) struct Mux<S> {
    socket: S,
    /// What has come of messages that are not whole yet, by connection.
    partial: BTreeMap<u32, Vec<u8>>,
}

impl<S: Read + Write> Mux<S> {
    pub(crate) fn new(socket: S) -> Self {
        let partial = [PLUGIN, RUNTIME].map(|connection| (connection, Vec::new()));
        Self { socket, partial: partial.into() }
    }

    #[cfg(test)]
    pub(crate) fn into_socket(self) -> S {
        self.socket
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, connection: u32, message: &Message) -> io::Result<()> {
        let bytes = message.bytes()?;
        let mut frames = Vec::with_capacity(bytes.len() + 8 * (1 + bytes.len() / MOST_SENT));
        for part in bytes.chunks(MOST_SENT) {
            frames.extend(connection.to_be_bytes());
            frames.extend(length(part.len())?.to_be_bytes());
            frames.extend(part);
        }
        self.socket.write_all(&frames)
    }

    /// Waits for the next whole message and the connection that it came on. Other connections'
    /// frames are passed over, as NRI does.
    pub(crate) fn receive(&mut self) -> io::Result<(u32, Message)> {
        loop {
            for (&connection, bytes) in &mut self.partial {
                if let Some(message) = take(bytes)? {
                    return Ok((connection, message));
                }
            }
            let mut header = [0; 8];
            self.socket.read_exact(&mut header)?;
            let [a, b, c, d, e, f, g, h] = header;
            let connection = u32::from_be_bytes([a, b, c, d]);
            let count = u32::from_be_bytes([e, f, g, h]) as usize;
            if count > MOST_READ {
                return Err(invalid(format!("a frame of {count} bytes")));
            }
            let mut read = (&mut self.socket).take(count as u64);
            let got = match self.partial.get_mut(&connection) {
                Some(bytes) => read.read_to_end(bytes)?,
                None => usize::try_from(io::copy(&mut read, &mut io::sink())?).unwrap_or(0),
            };
            if got < count {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Takes the first message, if it is whole.
fn take(bytes: &mut Vec<u8>) -> io::Result<Option<Message>> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let header = MessageHeader::read(header)?;
    let Some(payload) = rest.get(..header.length) else { return Ok(None) };
    let message = Message { stream: header.stream, kind: header.kind, payload: payload.to_vec() };
    bytes.drain(..HEADER + header.length);
    Ok(Some(message))
}

pub(crate) fn length(of: usize) -> io::Result<u32> {
    u32::try_from(of).map_err(|_| invalid(format!("{of} bytes at once")))
}

pub(crate) fn invalid(found: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not as NRI's protocol has it: {found}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::ttrpc::{REQUEST, RESPONSE};

    /// Bytes to read, and those that were written.
    struct Wire(Cursor<Vec<u8>>, Vec<u8>);

    impl Read for Wire {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.0.read(to)
        }
    }

    impl Write for Wire {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            self.1.write(from)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frame(connection: u32, payload: &[u8]) -> Vec<u8> {
        let count = u32::try_from(payload.len()).expect("few");
        [&connection.to_be_bytes()[..], &count.to_be_bytes(), payload].concat()
    }

    fn receive(bytes: &[u8]) -> io::Result<(u32, Message)> {
        Mux::new(Wire(Cursor::new(bytes.to_vec()), Vec::new())).receive()
    }

    fn message(count: usize) -> Message {
        Message { stream: 7, kind: REQUEST, payload: vec![b'x'; count] }
    }

    /// NRI's side drops a plugin whose message begins with a longer frame.
    #[test]
    fn no_frame_has_more_than_4096_bytes() {
        for count in [0, 4085, 4086, 4087, 20_000] {
            let mut mux = Mux::new(Wire(Cursor::default(), Vec::new()));
            mux.send(PLUGIN, &message(count)).expect("sent");
            let sent = mux.socket.1;
            let mut rest = &sent[..];
            while let Some((header, after)) = rest.split_first_chunk::<8>() {
                let size = usize::from(u16::from_be_bytes([header[6], header[7]]));
                assert_eq!(header[..6], [0, 0, 0, 1, 0, 0]);
                assert!((1..=4096).contains(&size), "{size}");
                rest = &after[size..];
            }
            assert_eq!(receive(&sent).expect("read"), (PLUGIN, message(count)));
        }
    }

    #[test]
    fn a_message_may_come_in_pieces_between_others() {
        let whole = message(300).bytes().expect("bytes");
        let (first, rest) = whole.split_at(4);
        let answer = Message { stream: 1, kind: RESPONSE, payload: Vec::new() };
        let other = answer.bytes().expect("bytes");
        let bytes =
            [frame(1, first), frame(9, b"skipped"), frame(2, &other), frame(1, rest)].concat();
        let mut mux = Mux::new(Wire(Cursor::new(bytes), Vec::new()));
        assert_eq!(mux.receive().expect("the short one"), (RUNTIME, answer));
        assert_eq!(mux.receive().expect("the long one"), (PLUGIN, message(300)));
        let end = mux.receive().expect_err("no more");
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn too_long_frames_and_messages_are_refused() {
        let mut long = frame(1, b"");
        long[4..].copy_from_slice(&u32::MAX.to_be_bytes());
        let wrong = receive(&long).expect_err("refused").to_string();
        assert!(wrong.contains("a frame of 4294967295 bytes"), "{wrong}");
        let header = [&u32::MAX.to_be_bytes()[..], &[0, 0, 0, 1, 1, 0]].concat();
        let wrong = receive(&frame(1, &header)).expect_err("refused").to_string();
        assert!(wrong.contains("a message of 4294967295 bytes"), "{wrong}");
        let cut = receive(&frame(1, b"abc")[..9]).expect_err("cut off");
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }
}
