//! dCat's Table 4 with a real redis-server: one million records of 128 bytes, GETs from a real
//! client, beside two programs that stream and two that only compute.
//!
//! The kernel is not simulated, and the client is on no core of the chip: the result is the speed
//! of the server's own instructions.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::parse;
use fairways_chip::{ChipError, Job, Phase, Settings};
use fairways_core::{Policy, Wish};

use crate::executed::{ProgramStep, timeline};

/// A server, its clients, and its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Table4 {
    /// The server's port on 127.0.0.1.
    pub port: u16,
    /// Records of 128 bytes; the paper's are a million.
    pub records: u32,
    /// Connections, each with `pipeline` requests under way: 400 and 30 in the paper.
    pub clients: u32,
    /// Requests under way on a connection.
    pub pipeline: u32,
    /// The neighbours that stream, such as `mload:60M`.
    pub stream: String,
    /// The baseline of every program in ways: 4 in the paper.
    pub baseline: u32,
}

impl Table4 {
    /// The paper's values.
    #[must_use]
    pub fn published(port: u16) -> Self {
        let (records, clients, pipeline, baseline) = (1_000_000, 400, 30, 4);
        Self { port, records, clients, pipeline, stream: "mload:60M".to_owned(), baseline }
    }

    /// Writes the records to a file in this folder, which servers read at their start: a server
    /// that is not simulated does so within seconds.
    ///
    /// # Errors
    /// If there is no redis-server, or it fails: [`ChipError`].
    pub fn fill(&self, folder: &Path) -> Result<(), ChipError> {
        let Self { port, records, .. } = self;
        fn failed(what: &str) -> ChipError {
            ChipError::Failed(format!("redis-server: {what}"))
        }
        let mut server = Command::new("redis-server");
        server.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        server.arg("--dir").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = server.spawn().map_err(|why| failed(&why.to_string()))?;
        let fill = format!(
            "for i = 0, {} do \
                 redis.call('SET', string.format('key:%012d', i), string.rep('x', 128)) \
             end",
            records - 1
        );
        let has_answered = |words: &[&str]| {
            let mut client = Command::new("redis-cli");
            client.args(["-e", "-p", &port.to_string()]).args(words);
            client.stdout(Stdio::null()).stderr(Stdio::null());
            client.status().is_ok_and(|status| status.success())
        };
        let up = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            has_answered(&["ping"])
        });
        let filled = up && has_answered(&["eval", &fill, "0"]) && has_answered(&["save"]);
        // The server may have ended by itself, because its port is in use.
        let _ = server.kill();
        let _ = server.wait();
        if filled { Ok(()) } else { Err(failed("could not be filled with records")) }
    }

    /// The server in the notation of programs on a chip: it reads its records at full speed, and
    /// then answers random requests.
    ///
    /// A GET follows pointers (overlap 1); the modelled Redis of `fairways-lab paper dcat` runs
    /// with the same 0.7 cycles per instruction while everything hits.
    #[must_use]
    pub fn server(&self, folder: &Path) -> String {
        let Self { port, records, clients, pipeline, .. } = self;
        format!(
            "live:cpi=0.7:overlap=1:redis-server --port {port} --bind 127.0.0.1 --save \"\" \
             --dir \"{}\" --loglevel warning --logfile /dev/null \
             -- redis-cli -e -p {port} dbsize \
             -- redis-benchmark -p {port} -t get -r {records} -n 1000000000 -c {clients} -P {pipeline}",
            folder.display()
        )
    }

    /// Runs the server, which reads its records from this folder, and its neighbours, in rounds of
    /// a second.
    ///
    /// # Errors
    /// If the chip is not possible, or the server fails: [`ChipError`].
    pub fn run(
        &self,
        folder: &Path,
        settings: Settings,
        policy: &mut dyn Policy,
        rounds: u32,
    ) -> Result<Vec<Vec<ProgramStep>>, ChipError> {
        let texts = [&self.server(folder), &self.stream, &self.stream, "lookbusy", "lookbusy"];
        let tenants = texts
            .iter()
            .map(|text: &&str| -> Result<Job, ChipError> {
                let phases =
                    parse(text, |_| None).map_err(|why| ChipError::Failed(why.to_string()))?;
                Ok(Job {
                    phases: phases
                        .into_iter()
                        .map(|(program, length)| Phase { program: program.map(Arc::new), length })
                        .collect(),
                    wish: Wish { baseline_ways: Some(self.baseline), ..Wish::default() },
                    ..Job::default()
                })
            })
            .collect::<Result<Vec<Job>, ChipError>>()?;
        timeline(settings, &tenants, policy, Duration::from_secs(1), rounds)
    }
}

/// The server's instructions per cycle of the chip, busy or not, over the last `last` rounds.
#[must_use]
pub fn speed(settings: &Settings, server: &[ProgramStep], last: u32) -> f64 {
    let counted = &server[server.len().saturating_sub(last as usize)..];
    let instructions: u64 = counted.iter().map(|moment| moment.counted.instructions).sum();
    let seconds = counted.len() as f64 / f64::from(settings.time_scale);
    instructions as f64 / (seconds * f64::from(settings.chip.mhz) * 1e6)
}
