//! Asking a server for a histogram, without waiting for one that hangs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fairways_core::Answered;

use super::Source;
use super::histogram::Histogram;

/// How long a server may take for a connection, and for each part of an answer, before it is given up.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes that an answer may have.
pub(super) const MOST_BYTES: u64 = 16 << 20;

/// A server that has a histogram.
pub(super) trait Ask: Send + 'static {
    /// The histogram now, or why there is none.
    fn ask(&mut self) -> Result<Histogram, String>;
}

/// The number of the question that is asked in the beginning.
const FIRST: u64 = 0;

/// The number of a question, and what came of it.
type Answer = (u64, Result<Histogram, String>);

/// The histograms of a server, asked for on a thread of their own.
///
/// Each call asks once, and so does the beginning, which nobody waits for: the first call tells of the time since then. A call is unknown if its answer, or that of the call before it, did not come: the
/// difference to an older one would tell of more than the time since the last call.
pub(super) struct Poller {
    name: String,
    patience: Duration,
    asked: u64,
    questions: Sender<u64>,
    answers: Receiver<Answer>,
    last: Option<(u64, Histogram)>,
    trouble: Option<String>,
}

impl Poller {
    /// Asks `server`, which is called `name` in the log, for the first time. A call waits so long for an answer.
    pub(super) fn new(name: String, patience: Duration, mut server: impl Ask) -> Self {
        let (questions, asked) = channel::<u64>();
        let (answer, answers) = channel();
        thread::spawn(move || {
            let mut question = FIRST;
            while answer.send((question, server.ask())).is_ok() {
                let Ok(next) = asked.recv() else { return };
                question = asked.try_iter().last().unwrap_or(next);
            }
        });
        Self { name, patience, asked: FIRST, questions, answers, last: None, trouble: None }
    }

    fn question(&mut self) {
        self.asked += 1;
        // The thread ends only with its source.
        let _ = self.questions.send(self.asked);
    }

    /// The histogram that answers the last question, if it comes in time; late answers to earlier ones are taken in on the way.
    fn answer(&mut self) -> Option<Histogram> {
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((question, answer)) = self.answers.recv_timeout(left) else {
                self.complain(format!("no answer within {:?}", self.patience));
                return None;
            };
            match answer {
                Ok(histogram) if question == self.asked => return Some(histogram),
                Ok(histogram) => self.last = Some((question, histogram)),
                Err(why) => {
                    self.complain(why);
                    if question == self.asked {
                        return None;
                    }
                }
            }
        }
    }

    /// Says in the log that latencies are unknown, once as long as the reason stays the same.
    fn complain(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            tracing::warn!(source = self.name, why, "latencies are unknown");
            self.trouble = Some(why);
        }
    }
}

impl Source for Poller {
    fn answered(&mut self) -> Option<Vec<Answered>> {
        self.question();
        let now = self.answer()?;
        if self.trouble.take().is_some() {
            tracing::info!(source = self.name, "latencies are known again");
        }
        let before = self.last.take().filter(|&(question, _)| question + 1 == self.asked);
        let answered = before.and_then(|(_, before)| now.since(&before));
        self.last = Some((self.asked, now));
        answered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::PATIENCE;
    use super::*;

    /// Answers with as many requests as it is told, when it is told.
    struct Server(Receiver<Result<u64, String>>);

    impl Ask for Server {
        fn ask(&mut self) -> Result<Histogram, String> {
            let requests = self.0.recv().map_err(|error| error.to_string())??;
            let mut histogram = Histogram::default();
            let buckets = BTreeMap::from([(Duration::from_millis(1), requests)]);
            histogram.add_cumulative(&buckets).ok_or("no histogram")?;
            Ok(histogram)
        }
    }

    fn requests(poller: &mut Poller) -> Option<u64> {
        Some(poller.answered()?.iter().map(|answered| answered.requests).sum())
    }

    #[test]
    fn what_is_told_is_told_of_the_time_since_the_last_call_only() {
        let (tell, told) = channel();
        let mut poller = Poller::new("test".to_owned(), Duration::from_secs(10), Server(told));
        for (says, expected) in [
            (Ok(10), None),
            (Ok(15), Some(5)),
            (Ok(15), Some(0)),
            (Err("gone".to_owned()), None),
            (Ok(30), None),
            (Ok(31), Some(1)),
            (Ok(4), None),
            (Ok(6), Some(2)),
        ] {
            let first = says == Ok(10);
            tell.send(says).unwrap();
            if !first {
                assert_eq!(requests(&mut poller), expected);
            }
        }
    }

    #[test]
    fn a_server_that_hangs_is_waited_for_a_tenth_of_a_second() {
        let (tell, told) = channel();
        let mut poller = Poller::new("test".to_owned(), PATIENCE, Server(told));
        tell.send(Ok(1)).unwrap();
        let began = Instant::now();
        assert_eq!(poller.answered(), None);
        assert!(began.elapsed() < PATIENCE * 10, "{:?}", began.elapsed());
        // The late answer is what the next one is compared with.
        tell.send(Ok(5)).unwrap();
        tell.send(Ok(8)).unwrap();
        assert_eq!(requests(&mut poller), Some(3));
        assert_eq!(poller.answered(), None);
        assert_eq!(poller.answered(), None);
        tell.send(Ok(20)).unwrap();
        tell.send(Ok(21)).unwrap();
        assert_eq!(requests(&mut poller), None, "the answer before it did not come in time");
    }
}
