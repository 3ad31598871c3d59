//! The latencies of an emulator's services.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::LatencyBin;
use fairways_latency::Source;

use super::Connection;

/// The latencies of an emulator's service: of one program, or of several together.
#[derive(Debug)]
pub struct Service {
    connection: Connection,
    programs: Vec<String>,
    /// Requests by latency since the service started, as last read.
    last_read: BTreeMap<Duration, u64>,
}

impl Service {
    /// The service of these processes, counted from now on.
    ///
    /// # Errors
    /// If the emulator does not answer, or the processes are none of its services.
    pub fn new(connection: &Connection, pids: &[i32]) -> std::io::Result<Self> {
        let programs = pids.iter().map(i32::to_string).collect();
        let mut service =
            Self { connection: connection.clone(), programs, last_read: BTreeMap::new() };
        service.last_read = service.read()?;
        Ok(service)
    }

    fn read(&self) -> std::io::Result<BTreeMap<Duration, u64>> {
        let programs = Some(self.programs.clone());
        let all = self.connection.socket().ask(|client| client.latencies(programs))?;
        let mut requests_by_latency = BTreeMap::new();
        for of in all {
            let answered = of.answered.ok_or_else(|| {
                std::io::Error::other(format!("{}: no service", self.programs.join(", ")))
            })?;
            for LatencyBin { latency, requests } in answered {
                *requests_by_latency.entry(latency).or_default() += requests;
            }
        }
        Ok(requests_by_latency)
    }
}

impl Source for Service {
    fn answered(&mut self) -> Option<Vec<LatencyBin>> {
        let now = self.read().ok()?;
        let new = now.iter().filter_map(|(latency, count)| {
            let before = self.last_read.get(latency).copied().unwrap_or(0);
            let requests = count.checked_sub(before).filter(|&new| new > 0)?;
            Some(LatencyBin { latency: *latency, requests })
        });
        let new = new.collect();
        self.last_read = now;
        Some(new)
    }
}
