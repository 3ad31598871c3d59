//! Requests and responses, as containerd's ttrpc has them (PROTOCOL.md, request.proto): a header
//! of ten bytes, then a message of protobuf. NRI makes unary calls only.

use std::io;

use prost::Message as _;

use crate::mux::{invalid, length};

/// The bytes of a header: length, stream, kind, flags.
pub(crate) const HEADER: usize = 10;

/// The longest payload (`messageLengthMax` of ttrpc's channel.go).
pub(crate) const LONGEST: usize = 4 << 20;

pub(crate) const REQUEST: u8 = 1;
pub(crate) const RESPONSE: u8 = 2;

/// The code that answers an unknown method, by which a runtime of NRI 0.12 falls back to
/// `StateChange`.
pub(crate) const UNIMPLEMENTED: i32 = 12;
pub(crate) const INVALID_ARGUMENT: i32 = 3;

/// A message and the stream that it belongs to: a response has its request's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) stream: u32,
    pub(crate) kind: u8,
    pub(crate) payload: Vec<u8>,
}

/// What stands before a payload.
pub(crate) struct MessageHeader {
    pub(crate) length: usize,
    pub(crate) stream: u32,
    pub(crate) kind: u8,
}

impl MessageHeader {
    pub(crate) fn read(bytes: &[u8; HEADER]) -> io::Result<Self> {
        let [a, b, c, d, e, f, g, h, kind, _] = *bytes;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > LONGEST {
            return Err(invalid(format!("a message of {length} bytes")));
        }
        Ok(Self { length, stream: u32::from_be_bytes([e, f, g, h]), kind })
    }
}

impl Message {
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        bytes.extend(length(self.payload.len())?.to_be_bytes());
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend([self.kind, 0]);
        bytes.extend(&self.payload);
        Ok(bytes)
    }

    /// A call.
    pub(crate) fn call(stream: u32, request: &CallRequest) -> Self {
        Self { stream, kind: REQUEST, payload: request.encode_to_vec() }
    }

    /// The answer to a call: what it asked for, or a status.
    pub(crate) fn answer(stream: u32, answer: Result<Vec<u8>, CallStatus>) -> Self {
        let response = match answer {
            Ok(payload) => TtrpcResponse { status: None, payload },
            Err(status) => TtrpcResponse { status: Some(status), payload: Vec::new() },
        };
        Self { stream, kind: RESPONSE, payload: response.encode_to_vec() }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallRequest {
    #[prost(string, tag = "1")]
    pub(crate) service: String,
    #[prost(string, tag = "2")]
    pub(crate) method: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) payload: Vec<u8>,
    /// What is left of the caller's time, in nanoseconds; 0 where it waits for ever.
    #[prost(int64, tag = "4")]
    pub(crate) timeout_nano: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TtrpcResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<CallStatus>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) payload: Vec<u8>,
}

/// An outcome; code 0 is success.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}
