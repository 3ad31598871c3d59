//! A client of the control socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use fairways_core::Time;

use crate::{
    ArmedFault, Fault, ProgramCounters, ProgramLatencies, ProgramState, Request, Response, Retired,
    Status,
};

/// A connection to an emulator. If it holds the clock, it gives it back when it is dropped.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Why the emulator did not fulfil a request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No emulator listens there any more.
    #[error("{path}: no emulator listens there: {why}")]
    Connect {
        /// The socket.
        path: String,
        /// The error.
        why: std::io::Error,
    },
    /// The connection broke.
    #[error("the emulator does not answer")]
    Broken(#[from] std::io::Error),
    /// Its answer is none of the responses.
    #[error("the emulator's answer is not understood: {0}")]
    Unknown(String),
    /// It refused.
    #[error("{0}")]
    Refused(String),
}

impl Client {
    /// Connects to an emulator's socket.
    ///
    /// # Errors
    /// If no emulator listens there.
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(socket)
            .map_err(|why| ClientError::Connect { path: socket.display().to_string(), why })?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request, and waits for the response.
    ///
    /// # Errors
    /// If the connection breaks, or the emulator refuses.
    pub fn request(&mut self, request: &Request) -> Result<Response, ClientError> {
        let mut line = serde_json::to_string(request).map_err(std::io::Error::from)?;
        line.push('\n');
        match self.stream.get_mut().write_all(line.as_bytes()) {
            // The reason for being turned away may still be readable.
            Err(why) if why.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
        line.clear();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        match serde_json::from_str(&line) {
            Ok(Response::Error(why)) => Err(ClientError::Refused(why)),
            Ok(response) => Ok(response),
            Err(_) => Err(ClientError::Unknown(line.trim_end().chars().take(200).collect())),
        }
    }

    fn status_of(&mut self, request: &Request) -> Result<Status, ClientError> {
        match self.request(request)? {
            Response::Status(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    fn faults_of(&mut self, request: &Request) -> Result<Vec<ArmedFault>, ClientError> {
        match self.request(request)? {
            Response::Faults(faults) => Ok(faults),
            other => Err(unexpected(&other)),
        }
    }

    /// The emulator's status.
    ///
    /// # Errors
    /// As for [`request`](Self::request), also for all methods below.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.status_of(&Request::Status {})
    }

    /// Takes the clock.
    ///
    /// # Errors
    /// If another client has it.
    pub fn hold(&mut self) -> Result<Status, ClientError> {
        self.status_of(&Request::Hold {})
    }

    /// Gives the clock back.
    ///
    /// # Errors
    /// If this client does not have it.
    pub fn release(&mut self) -> Result<Status, ClientError> {
        self.status_of(&Request::Release {})
    }

    /// Lets that much time pass.
    ///
    /// # Errors
    /// If the clock is neither in lockstep nor held by this client.
    pub fn advance(&mut self, time: Duration) -> Result<Status, ClientError> {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.status_of(&Request::Advance {
            by_ns: Some(nanos),
            to_ns: None,
            about_ns: None,
            until_exit: false,
            until: Vec::new(),
        })
    }

    /// Lets time pass up to exactly this time, or until programs have retired instructions.
    ///
    /// # Errors
    /// If the clock is neither in lockstep nor held by this client, or there is no such program.
    pub fn advance_until(&mut self, to: Time, until: Vec<Retired>) -> Result<Status, ClientError> {
        let (by_ns, about_ns, until_exit) = (None, None, false);
        let to_ns = Some(to.nanos());
        self.status_of(&Request::Advance { by_ns, to_ns, about_ns, until_exit, until })
    }

    /// Lets time pass up to the first of these: exactly the first time, the step of the machine at
    /// the second one, the exit of a program, or these numbers of instructions. Times are
    /// nanoseconds since the machine began.
    ///
    /// # Errors
    /// As for [`advance_until`](Self::advance_until).
    pub fn advance_to_exit(
        &mut self,
        (to_ns, about_ns): (u64, u64),
        until: &[Retired],
    ) -> Result<Status, ClientError> {
        let (to_ns, about_ns) = (Some(to_ns), Some(about_ns));
        let until = until.to_vec();
        self.status_of(&Request::Advance { by_ns: None, to_ns, about_ns, until_exit: true, until })
    }

    /// The simulated programs.
    ///
    /// # Errors
    /// As for [`request`](Self::request).
    pub fn programs(&mut self) -> Result<Vec<ProgramState>, ClientError> {
        match self.request(&Request::Programs {})? {
            Response::Programs(programs) => Ok(programs),
            other => Err(unexpected(&other)),
        }
    }

    /// The counters of these programs, or of all.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn counters(
        &mut self,
        programs: Option<Vec<String>>,
    ) -> Result<Vec<ProgramCounters>, ClientError> {
        match self.request(&Request::Counters { programs })? {
            Response::Counters(counters) => Ok(counters),
            other => Err(unexpected(&other)),
        }
    }

    /// The latencies of these services, or of all, since they started.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn latencies(
        &mut self,
        programs: Option<Vec<String>>,
    ) -> Result<Vec<ProgramLatencies>, ClientError> {
        match self.request(&Request::Latencies { programs })? {
            Response::Latencies(latencies) => Ok(latencies),
            other => Err(unexpected(&other)),
        }
    }

    /// Arms a fault, and returns all that are armed then.
    ///
    /// # Errors
    /// As for [`request`](Self::request).
    pub fn arm(&mut self, fault: Fault) -> Result<Vec<ArmedFault>, ClientError> {
        self.faults_of(&Request::Arm { fault })
    }

    /// Disarms a fault, or all, and returns those that are still armed.
    ///
    /// # Errors
    /// If there is no such fault.
    pub fn clear(&mut self, id: Option<u64>) -> Result<Vec<ArmedFault>, ClientError> {
        self.faults_of(&Request::Clear { id })
    }

    /// The armed faults.
    ///
    /// # Errors
    /// As for [`request`](Self::request).
    pub fn faults(&mut self) -> Result<Vec<ArmedFault>, ClientError> {
        self.faults_of(&Request::Faults {})
    }
}

fn unexpected(response: &Response) -> ClientError {
    ClientError::Unknown(format!("{response:?}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ClockState;

    /// A client whose emulator answers with these lines.
    fn answered(lines: &str) -> Client {
        let (client, mut emulator) = UnixStream::pair().unwrap();
        emulator.write_all(lines.as_bytes()).unwrap();
        Client { stream: BufReader::new(client) }
    }

    #[test]
    fn what_is_no_answer_is_reported_in_a_line() {
        for (line, said) in [
            ("", "does not answer"),
            ("\n", "not understood"),
            ("{}\n", "not understood: {}"),
            ("{\"error\":\"advance: hold the clock first\"}\n", "advance: hold the clock first"),
            ("{\"status\":{\"now_ns\":-1}}\n", "not understood: {\"status\""),
            ("{\"faults\":[]}\n", "not understood: Faults"),
        ] {
            let why = answered(line).status().unwrap_err().to_string();
            assert!(why.contains(said) && why.lines().count() == 1, "{line}: {why}");
        }
    }

    #[test]
    fn fields_that_a_later_emulator_adds_are_passed_over() {
        let line = concat!(
            r#"{"status":{"schema":1,"version":"9","pid":1,"mount":"/m","options":"","now_ns":5,"#,
            r#""clock":"held","pace":1.0,"factor":null,"running":2,"programs":2,"faults":0,"#,
            r#""later":true}}"#,
            "\n"
        );
        let status = answered(line).status().unwrap();
        assert_eq!((status.now_ns, status.clock, status.running), (5, ClockState::Held, 2));
    }

    #[test]
    fn a_counter_that_is_null_is_missing() {
        let line = concat!(
            r#"{"counters":[{"pid":7,"name":"a","now_ns":5,"counters":{"instructions":3,"#,
            r#""cycles":null}}]}"#,
            "\n"
        );
        let all = answered(line).counters(None).unwrap();
        assert_eq!(all[0].counters.instructions, Some(3));
        assert_eq!((all[0].counters.cycles, all[0].counters.llc_misses), (None, None));
    }
}
