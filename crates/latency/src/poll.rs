//! Asking a server for a histogram, without waiting for one that hangs.

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

/// How often something is said of one source in the log at most, once it has been said so often.
const OFTEN: u32 = 5;
const SELDOM: Duration = Duration::from_secs(60);

/// A server that has a histogram.
pub(super) trait Ask: Send + 'static {
    /// The histogram now, or why there is none.
    fn ask(&mut self) -> Result<Histogram, Trouble>;
}

/// The number of the question that is asked in the beginning.
const FIRST: u64 = 0;

/// What came of a question.
struct Answer {
    question: u64,
    histogram: Result<Histogram, String>,
    /// How long the server took.
    took: Duration,
}

/// The histograms of a server, asked for on a thread of their own.
///
/// Each call asks once, and so does the beginning, which nobody waits for: the first call tells of the time since then. A call is unknown
/// if its answer, or that of the call before it, did not come: the difference to an older one would tell of more than the time since
/// the last call.
///
/// A server that has let a call wait in vain is slow, until it has answered within half of what a call waits: nobody waits for it, and a
/// call takes the answer to the question of the call before it. What it tells is late by a call then.
pub(super) struct Poller {
    name: String,
    patience: Duration,
    asked: u64,
    questions: Sender<u64>,
    answers: Receiver<Answer>,
    last: Option<(u64, Histogram)>,
    is_slow: bool,
    /// Whether a call has passed since the last question that found no answer.
    is_late: bool,
    trouble: Option<String>,
    /// How many lines of the log were of this source in a row, and when the last one was.
    said: u32,
    said_at: Instant,
}

/// A server that broke a limit is not asked for a while.
#[derive(Default)]
struct Pause {
    length: Duration,
    until: Option<Instant>,
    why: String,
}

impl Pause {
    fn ask(&mut self, server: &mut impl Ask, now: Instant) -> Result<Histogram, String> {
        if self.until.is_some_and(|until| now < until) {
            return Err(self.why.clone());
        }
        match server.ask() {
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
    /// Asks `server`, which is called `name` in the log, for the first time. A call waits so long for an answer.
    ///
    /// # Errors
    /// If no thread can be made.
    pub(super) fn new(
        name: String,
        patience: Duration,
        mut server: impl Ask,
    ) -> std::io::Result<Self> {
        let (questions, asked) = channel::<u64>();
        let (answer, answers) = channel();
        thread::Builder::new().name("latencies".to_owned()).spawn(move || {
            let mut question = FIRST;
            let mut pause = Pause::default();
            loop {
                let began = Instant::now();
                let histogram = pause.ask(&mut server, began);
                let took = began.elapsed();
                if answer.send(Answer { question, histogram, took }).is_err() {
                    return;
                }
                let Ok(next) = asked.recv() else { return };
                question = asked.try_iter().last().unwrap_or(next);
            }
        })?;
        Ok(Self {
            name,
            patience,
            asked: FIRST,
            questions,
            answers,
            last: None,
            is_slow: false,
            is_late: false,
            trouble: None,
            said: 0,
            said_at: Instant::now(),
        })
    }

    fn question(&mut self) {
        self.asked += 1;
        // The thread ends only with its source.
        let _ = self.questions.send(self.asked);
    }

    /// The answer to the last question, if it comes within that time; late ones to earlier questions are taken in on the way.
    fn answer(&mut self, patience: Duration) -> Option<Answer> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left).ok()?;
            if answer.question == self.asked {
                return Some(answer);
            }
            match answer.histogram {
                Ok(histogram) => self.last = Some((answer.question, histogram)),
                Err(why) => self.complain(why),
            }
        }
    }

    /// What the histogram grew by until the last question was answered, from the one before it.
    fn grown(&mut self, answer: Answer) -> Option<Vec<LatencyBin>> {
        let now = match answer.histogram {
            Ok(now) => now,
            Err(why) => {
                self.complain(why);
                return None;
            }
        };
        if self.trouble.take().is_some() && self.may_say() {
            tracing::info!(source = self.name, "latencies are known again");
        }
        let before = self.last.take().filter(|&(question, _)| question + 1 == answer.question);
        let grown = before.and_then(|(_, before)| now.since(&before));
        self.last = Some((answer.question, now));
        grown
    }

    /// Says in the log that latencies are unknown, once as long as the reason stays the same.
    fn complain(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            if self.may_say() {
                tracing::warn!(source = self.name, why, "latencies are unknown");
            }
            self.trouble = Some(why);
        }
    }

    /// Whether a line of the log may be of this source now: a server that changes its mind all the time fills no log.
    fn may_say(&mut self) -> bool {
        let passed = self.said_at.elapsed();
        if self.said >= OFTEN && passed < SELDOM {
            return false;
        }
        self.said = if passed < SELDOM { self.said + 1 } else { 1 };
        self.said_at = Instant::now();
        true
    }

    /// Takes what has come from a server that is not waited for, and asks again.
    fn answered_late(&mut self) -> Option<Vec<LatencyBin>> {
        let Some(answer) = self.answer(Duration::ZERO) else {
            self.is_late = true;
            return None;
        };
        self.is_slow = answer.took > self.patience / 2;
        let grown = self.grown(answer);
        self.question();
        // What came after a call that found nothing is of more than a call's time.
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
            self.complain(format!(
                "no answer within {:?}; nobody waits for the next, which are told a window late",
                self.patience
            ));
            return None;
        };
        self.grown(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Answers with as many requests as it is told, when it is told.
    struct Server(Receiver<Result<u64, String>>);

    impl Ask for Server {
        fn ask(&mut self) -> Result<Histogram, Trouble> {
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
    fn what_is_told_is_told_of_the_time_since_the_last_call_only() {
        let (tell, told) = channel();
        let mut poller =
            Poller::new("test".to_owned(), Duration::from_secs(10), Server(told)).unwrap();
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
    fn a_server_that_hangs_is_waited_for_once_and_then_told_a_call_late() {
        let patience = Duration::from_millis(300);
        let timed = || {
            let (tell, told) = channel();
            let mut poller = Poller::new("test".to_owned(), patience, Server(told)).unwrap();
            tell.send(Ok(1)).unwrap();
            let began = Instant::now();
            assert_eq!(requests(&mut poller), None, "the second question has no answer");
            (tell, poller, began.elapsed())
        };
        // The best of some, since others use this machine, too.
        let (tell, mut poller, waited) = (0..3).map(|_| timed()).min_by_key(|of| of.2).unwrap();
        assert!(waited >= patience && waited < patience * 5, "{waited:?}");
        let began = Instant::now();
        for _ in 0..100 {
            assert_eq!(requests(&mut poller), None);
        }
        assert!(began.elapsed() < patience * 20, "nobody waits for it: {:?}", began.elapsed());
        // An answer that took so long is of more than a call's time, and the next is not.
        tell.send(Ok(5)).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), None);
        thread::sleep(patience);
        tell.send(Ok(8)).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), Some(3), "of the call before");
        thread::sleep(patience);
        tell.send(Err("gone".to_owned())).unwrap();
        thread::sleep(patience * 2);
        assert_eq!(requests(&mut poller), None);
        assert_eq!(poller.trouble.as_deref(), Some("gone"));
    }

    #[test]
    fn a_server_that_was_slow_and_is_no_longer_is_asked_and_answers_at_once() {
        let (tell, told) = channel();
        let patience = Duration::from_millis(400);
        let mut poller = Poller::new("test".to_owned(), patience, Server(told)).unwrap();
        assert_eq!(requests(&mut poller), None);
        assert!(poller.is_slow);
        for all in [1, 2, 4, 8, 16, 32] {
            tell.send(Ok(all)).unwrap();
        }
        let told = [(); 4].map(|()| {
            thread::sleep(patience);
            requests(&mut poller)
        });
        assert!(!poller.is_slow);
        // The answer to the question that hung; the one asked meanwhile is the next one's beginning, and told of by none.
        assert_eq!(told, [Some(1), Some(4), Some(8), Some(16)]);
    }
    #[test]
    fn a_server_that_breaks_a_limit_is_not_asked_for_a_while() {
        struct Hostile(u32);
        impl Ask for Hostile {
            fn ask(&mut self) -> Result<Histogram, Trouble> {
                self.0 += 1;
                Err(Trouble::Limit("too much".to_owned()))
            }
        }
        let (mut pause, mut server, began) = (Pause::default(), Hostile(0), Instant::now());
        for _ in 0..100 {
            let why = pause.ask(&mut server, began).unwrap_err();
            assert_eq!(why, "too much; it is not asked for 1 s");
        }
        assert_eq!(server.0, 1);
        for (asked, seconds) in (2..).zip([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
            let later = pause.until.unwrap();
            let why = pause.ask(&mut server, later).unwrap_err();
            assert_eq!(why, format!("too much; it is not asked for {seconds} s"));
            assert_eq!(server.0, asked);
        }
    }
}
