//! Polls a server for a histogram, without waiting for one that hangs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fairways_core::LatencyBin;

use super::Source;
use super::bounded::Trouble;
use super::histogram::Histogram;

/// How long a server that broke a limit is not asked: twice as long each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// After this many lines in a row, one source logs a line at most this often.
const OFTEN: u32 = 5;
const SELDOM: Duration = Duration::from_secs(60);

/// A server that has a histogram.
pub(super) trait HistogramServer: Send + 'static {
    /// The histogram now, or why there is none.
    fn fetch(&mut self) -> Result<Histogram, Trouble>;
}

/// The number of the question that is asked at the beginning.
const FIRST: u64 = 0;

/// The result of a question.
struct Reply {
    question: u64,
    histogram: Result<Histogram, String>,
    /// How long the server took.
    took: Duration,
}

/// The histograms of a server, requested on a thread of their own.
///
/// Each call asks once, and so does the beginning, for which no call waits: the first call covers
/// the time since then. A call's result is unknown if its answer, or the answer to the call before
/// it, did not come: the difference from an older answer would cover more than the time since the
/// last call.
///
/// A server that has let a call wait in vain is slow, until it has answered within half of a call's
/// patience: no call waits for it, and a call takes the answer to the previous call's question. The
/// result is then late by one call.
pub(super) struct Poller {
    name: String,
    patience: Duration,
    questions_sent: u64,
    questions: Sender<u64>,
    answers: Receiver<Reply>,
    last: Option<(u64, Histogram)>,
    is_slow: bool,
    /// Whether a call has passed without an answer since the last question.
    is_late: bool,
    trouble: Option<String>,
    /// How many lines were logged for this source in a row, and when the last one was.
    logged: u32,
    logged_at: Instant,
}

/// A server that broke a limit is not asked for a while.
#[derive(Default)]
struct Pause {
    length: Duration,
    until: Option<Instant>,
    why: String,
}

impl Pause {
    fn fetch(
        &mut self,
        server: &mut impl HistogramServer,
        now: Instant,
    ) -> Result<Histogram, String> {
        if self.until.is_some_and(|until| now < until) {
            return Err(self.why.clone());
        }
        match server.fetch() {
            Ok(histogram) => {
                *self = Self::default();
                Ok(histogram)
            }
            Err(Trouble::Passing(why)) => Err(why),
            Err(Trouble::Limit(why)) => {
                self.length = (self.length * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                self.until = Some(Instant::now() + self.length);
                self.why = format!("{why}; it is not asked for {} s", self.length.as_secs());
                Err(self.why.clone())
            }
        }
    }
}

impl Poller {
    /// Asks `server`, which is called `name` in the log, for the first time. A call waits at most
    /// `patience` for an answer.
    ///
    /// # Errors
    /// If no thread can be made.
    pub(super) fn new(
        name: String,
        patience: Duration,
        mut server: impl HistogramServer,
    ) -> std::io::Result<Self> {
        let (questions, requested) = channel::<u64>();
        let (answer, answers) = channel();
        thread::Builder::new().name("latencies".to_owned()).spawn(move || {
            let mut question = FIRST;
            let mut pause = Pause::default();
            loop {
                let began = Instant::now();
                let histogram = pause.fetch(&mut server, began);
                let took = began.elapsed();
                if answer.send(Reply { question, histogram, took }).is_err() {
                    return;
                }
                let Ok(next) = requested.recv() else { return };
                question = requested.try_iter().last().unwrap_or(next);
            }
        })?;
        Ok(Self {
            name,
            patience,
            questions_sent: FIRST,
            questions,
            answers,
            last: None,
            is_slow: false,
            is_late: false,
            trouble: None,
            logged: 0,
            logged_at: Instant::now(),
        })
    }

    fn question(&mut self) {
        self.questions_sent += 1;
        // The thread ends only with its source.
        let _ = self.questions.send(self.questions_sent);
    }

    /// The answer to the last question, if it comes within that time; late answers to earlier
    /// questions are read on the way.
    fn answer(&mut self, patience: Duration) -> Option<Reply> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left).ok()?;
            if answer.question == self.questions_sent {
                return Some(answer);
            }
            match answer.histogram {
                Ok(histogram) => self.last = Some((answer.question, histogram)),
                Err(why) => self.log_unknown(why),
            }
        }
    }

    /// The histogram's growth from the last answer to this one; `None` unless that answered the
    /// question before.
    fn growth(&mut self, answer: Reply) -> Option<Vec<LatencyBin>> {
        let now = match answer.histogram {
            Ok(now) => now,
            Err(why) => {
                self.log_unknown(why);
                return None;
            }
        };
        if self.trouble.take().is_some() && self.may_log() {
            tracing::info!(source = self.name, "latencies are known again");
        }
        let before = self.last.take().filter(|&(question, _)| question + 1 == answer.question);
        let grown = before.and_then(|(_, before)| now.since(&before));
        self.last = Some((answer.question, now));
        grown
    }

    /// Logs that latencies are unknown, once as long as the reason stays the same.
    fn log_unknown(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            if self.may_log() {
                tracing::warn!(source = self.name, why, "latencies are unknown");
            }
            self.trouble = Some(why);
        }
    }

    /// Whether a line may be logged for this source now: a server with ever new errors must not
    /// fill the log.
    fn may_log(&mut self) -> bool {
        let passed = self.logged_at.elapsed();
        if self.logged >= OFTEN && passed < SELDOM {
            return false;
        }
        self.logged = if passed < SELDOM { self.logged + 1 } else { 1 };
        self.logged_at = Instant::now();
        true
    }

    /// Takes the answer of a server that is not waited for, and asks again.
    fn answered_late(&mut self) -> Option<Vec<LatencyBin>> {
        let Some(answer) = self.answer(Duration::ZERO) else {
            self.is_late = true;
            return None;
        };
        self.is_slow = answer.took > self.patience / 2;
        let grown = self.growth(answer);
        self.question();
        // An answer after a call without one covers more than a call's time.
        grown.filter(|_| !std::mem::take(&mut self.is_late))
    }
}

impl Source for Poller {
    fn answered(&mut self) -> Option<Vec<LatencyBin>> {
        if self.is_slow {
            return self.answered_late();
        }
        self.question();
        let Some(answer) = self.answer(self.patience) else {
            self.is_slow = true;
            self.log_unknown(format!(
                "no answer within {:?}; the next ones are not waited for, and are reported a window late",
                self.patience
            ));
            return None;
        };
        self.growth(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Answers with as many requests as it receives, once it receives them.
    struct Server(Receiver<Result<u64, String>>);

    impl HistogramServer for Server {
        fn fetch(&mut self) -> Result<Histogram, Trouble> {
            let requests = self.0.recv().map_err(|error| error.to_string())??;
            let mut histogram = Histogram::default();
            let buckets = BTreeMap::from([(Duration::from_millis(1), requests)]);
            histogram
                .add_cumulative(String::new(), &buckets, |_| Duration::ZERO)
                .ok_or("no histogram".to_owned())?;
            Ok(histogram)
        }
    }

    fn requests(poller: &mut Poller) -> Option<u64> {
        Some(poller.answered()?.iter().map(|answered| answered.requests).sum())
    }

    #[test]
    fn a_result_covers_only_the_time_since_the_last_call() {
        let (replies, receiver) = channel();
        let mut poller =
            Poller::new("test".to_owned(), Duration::from_secs(10), Server(receiver)).unwrap();
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
            replies.send(says).unwrap();
            if !first {
                assert_eq!(requests(&mut poller), expected);
            }
        }
    }

    #[test]
    fn a_server_that_hangs_is_waited_for_once_and_is_then_a_call_late() {
        let patience = Duration::from_millis(300);
        let timed = || {
            let (replies, receiver) = channel();
            let mut poller = Poller::new("test".to_owned(), patience, Server(receiver)).unwrap();
            replies.send(Ok(1)).unwrap();
            let began = Instant::now();
            assert_eq!(requests(&mut poller), None, "the second question has no answer");
            (replies, poller, began.elapsed())
        };
        // The best of some, since other programs use this machine, too.
        let (replies, mut poller, waited) = (0..3).map(|_| timed()).min_by_key(|of| of.2).unwrap();
        assert!(waited >= patience && waited < patience * 5, "{waited:?}");
        let began = Instant::now();
        for _ in 0..100 {
            assert_eq!(requests(&mut poller), None);
        }
        assert!(began.elapsed() < patience * 20, "no call waits for it: {:?}", began.elapsed());
        // An answer that took this long covers more than a call's time, and the next does not.
        replies.send(Ok(5)).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), None);
        thread::sleep(patience);
        replies.send(Ok(8)).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), Some(3), "for the call before");
        thread::sleep(patience);
        replies.send(Err("gone".to_owned())).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), None);
        assert_eq!(poller.trouble.as_deref(), Some("gone"));
    }

    #[test]
    fn a_server_that_was_slow_and_is_no_longer_is_asked_and_answers_at_once() {
        let (replies, receiver) = channel();
        let patience = Duration::from_millis(400);
        let mut poller = Poller::new("test".to_owned(), patience, Server(receiver)).unwrap();
        assert_eq!(requests(&mut poller), None);
        assert!(poller.is_slow);
        for all in [1, 2, 4, 8, 16, 32] {
            replies.send(Ok(all)).unwrap();
        }
        let answered = [(); 4].map(|()| {
            thread::sleep(patience);
            requests(&mut poller)
        });
        assert!(!poller.is_slow);
        // The answer to the question that hung; the next question's growth starts at the one asked
        // meanwhile, which no call returns.
        assert_eq!(answered, [Some(1), Some(4), Some(8), Some(16)]);
    }
    #[test]
    fn a_server_that_breaks_a_limit_is_not_asked_for_a_while() {
        struct Hostile(u32);
        impl HistogramServer for Hostile {
            fn fetch(&mut self) -> Result<Histogram, Trouble> {
                self.0 += 1;
                Err(Trouble::Limit("too much".to_owned()))
            }
        }
        let (mut pause, mut server, began) = (Pause::default(), Hostile(0), Instant::now());
        for _ in 0..100 {
            let why = pause.fetch(&mut server, began).unwrap_err();
            assert_eq!(why, "too much; it is not asked for 1 s");
        }
        assert_eq!(server.0, 1);
        for (questions, seconds) in (2..).zip([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
            let later = pause.until.unwrap();
            let why = pause.fetch(&mut server, later).unwrap_err();
            assert_eq!(why, format!("too much; it is not asked for {seconds} s"));
            assert_eq!(server.0, questions);
        }
    }
}
