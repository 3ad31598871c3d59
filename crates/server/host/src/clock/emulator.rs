//! An emulator's time.

use std::io;
use std::time::{Duration, Instant};

use fairways_core::{AppId, Time};
use fairways_emulated::{Client, ClockState, Retired, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Clock, Wait};
use crate::emulated::Connection;
use crate::emulated::counters::threshold;

/// The clock of an emulator's machine. Unless the emulator is in lockstep, the clock advances only
/// while this connection waits. A wait stops between the machine's steps to check for calls for
/// attention: only [`Wait::until`] changes what the machine does.
#[derive(Debug)]
pub struct EmulatorClock {
    connection: Connection,
    began: u64,
    now: u64,
    running: usize,
    /// How much time passes between two checks for attention.
    portion: Duration,
}

/// The least and the most real time that a portion should take.
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(100);

impl EmulatorClock {
    /// Takes the emulator's clock, and counts from 0 now.
    ///
    /// # Errors
    /// If another client has it, or the emulator does not answer.
    pub fn new(connection: &Connection) -> io::Result<Self> {
        let mut socket = connection.socket();
        let mut status = socket.ask(Client::status)?;
        if status.clock != ClockState::Lockstep {
            status = socket.ask(Client::hold)?;
        }
        drop(socket);
        let Status { now_ns, running, .. } = status;
        let portion = Duration::from_millis(10);
        Ok(Self { connection: connection.clone(), began: now_ns, now: now_ns, running, portion })
    }

    /// A time on the machine's own clock.
    fn there(&self, time: Time) -> u64 {
        self.began.saturating_add(time.nanos())
    }

    fn advance(&mut self, until: Time, about: Time, targets: &[Retired]) -> io::Result<()> {
        let to = (self.there(until), self.there(about));
        let from = Instant::now();
        let mut socket = self.connection.socket();
        socket.seen = None;
        let status = socket.ask(|client| client.advance_to_exit(to, targets))?;
        drop(socket);
        let took = from.elapsed();
        (self.now, self.running) = (status.now_ns, status.running);
        if took < SOON {
            self.portion = (self.portion * 2).min(Duration::from_secs(1));
        } else if took > LATE {
            self.portion = (self.portion / 2).max(Duration::from_micros(1));
        }
        Ok(())
    }

    /// The instruction counts for which the emulator has to wait. Programs that it does not know
    /// are skipped.
    fn targets(&self, instructions: &[(AppId, u64)]) -> Vec<Retired> {
        let socket = self.connection.socket();
        let targets = instructions.iter().filter_map(|&(app, count)| {
            let (pids, count) = threshold(&socket, app, count)?;
            let programs: Vec<String> = pids.iter().map(i32::to_string).collect();
            Some(Retired { programs, instructions: count })
        });
        targets.collect()
    }
}

impl Clock for EmulatorClock {
    fn now(&self) -> Time {
        Time::from_nanos(self.now.saturating_sub(self.began))
    }

    fn notices_instructions(&self) -> bool {
        true
    }

    fn was_suspended(&mut self) -> bool {
        false
    }

    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool> {
        let targets = self.targets(wait.instructions);
        loop {
            let about = self.now().after(self.portion).min(wait.about);
            let running = self.running;
            self.advance(wait.until, about, &targets)?;
            let is_over = self.running < running;
            // If it returned early, a program caused that.
            let is_early = self.now() < about.min(wait.until);
            if is_over || is_early || self.now() >= wait.until.min(wait.about) {
                return Ok(is_over);
            }
            let mut asked: Vec<PollFd<'_>> =
                wait.attention.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            match poll(&mut asked, Some(&at_once)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(why) => return Err(why.into()),
            }
        }
    }
}
