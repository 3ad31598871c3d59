//! Repeated lines of the log: the first is written, the others are counted, and the count is
//! written after growing pauses. So a persistent failure fills no disk, and hides nothing else in
//! the log.
//!
//! This is for warnings and errors. Lines about changes are written each time.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Filter};

/// The target of counts, which are not counted themselves.
const COUNTS: &str = "fairways::repeated";

/// How long after a line its repetitions are first counted, and at most.
const FIRST_COUNT: Duration = Duration::from_secs(10);
const LONGEST_COUNT: Duration = Duration::from_secs(600);

/// A line that did not repeat for this long is new when it comes again. This is longer than the
/// longest pause between two attempts at anything.
const FORGOTTEN: Duration = Duration::from_secs(180);

/// How many different lines one place of the code may write at once, and how often one more: a
/// tenant may choose a part of their text.
const AT_ONCE: u32 = 50;
const ONE_MORE: Duration = Duration::from_secs(10);

/// The most different lines that are remembered.
const MOST_KNOWN: usize = 1000;

/// The longest part of a line that is remembered, in bytes.
const LONGEST: usize = 400;

/// The field that is different in lines that are otherwise the same: plans are numbered.
const COUNTED_ON: &str = "plan";

static LINES: Mutex<Option<RepeatedLines>> = Mutex::new(None);

/// Lets lines of this level and more important ones through, each once.
pub(super) struct FirstOnly(pub(super) LevelFilter);

impl<S> Filter<S> for FirstOnly {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        *metadata.level() <= self.0
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Not always: each line begins with `enabled`, which undoes the filtering of the line
        // before.
        if *metadata.level() <= self.0 { Interest::sometimes() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0)
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() > Level::WARN || metadata.target() == COUNTS {
            return true;
        }
        let mut line = LineText::default();
        event.record(&mut line);
        let place = (metadata.file().unwrap_or_default(), metadata.line().unwrap_or_default());
        let mut lines = LINES.lock();
        let lines = lines.get_or_insert_default();
        lines.is_new(*metadata.level(), place, line.text(), Instant::now())
    }
}

/// Writes the counts of repeated lines that are due; all of them `at_end`.
pub(super) fn write_counts(at_end: bool) {
    let counts = LINES.lock().as_mut().map(|lines| lines.due(Instant::now(), at_end));
    for LineCount { level, text, times, span } in counts.into_iter().flatten() {
        let seconds = span.as_secs().max(1);
        match level {
            Level::ERROR => {
                tracing::error!(target: COUNTS, "{times} times more in {seconds} s: {text}");
            }
            _ => tracing::warn!(target: COUNTS, "{times} times more in {seconds} s: {text}"),
        }
    }
}

/// A place in the code: file and line.
type CodePlace = (&'static str, u32);

/// The count of a repeated line.
#[derive(Debug, PartialEq, Eq)]
struct LineCount {
    level: Level,
    text: String,
    times: u64,
    span: Duration,
}

/// A line that was written.
#[derive(Debug)]
struct WrittenLine {
    level: Level,
    /// The number of repetitions since it was written or counted, and when that was.
    times: u64,
    since: Instant,
    last: Instant,
    /// How long until it is counted.
    pause: Duration,
}

/// How many lines a place of the code may still write.
#[derive(Clone, Copy, Debug)]
struct LineBudget {
    left: u32,
    since: Instant,
}

/// The lines that were written lately, and those that were left out.
#[derive(Debug, Default)]
struct RepeatedLines {
    lines: BTreeMap<String, WrittenLine>,
    budgets: BTreeMap<CodePlace, LineBudget>,
}

impl RepeatedLines {
    /// Whether a line is to be written, because it was not written recently.
    fn is_new(&mut self, level: Level, place: CodePlace, text: String, now: Instant) -> bool {
        if let Some(known) = self.lines.get_mut(&text) {
            if known.times == 0 && now.duration_since(known.last) >= FORGOTTEN {
                *known = WrittenLine::new(level, 0, now);
                return true;
            }
            (known.times, known.last) = (known.times + 1, now);
            return false;
        }
        if self.lines.len() < MOST_KNOWN && self.budget(place, now) {
            self.lines.insert(text, WrittenLine::new(level, 0, now));
            return true;
        }
        // The others of its place are one line from here on.
        let (file, line) = place;
        let others = format!("lines of {file}:{line} with another text");
        match self.lines.get_mut(&others) {
            Some(known) => (known.times, known.last) = (known.times + 1, now),
            None => _ = self.lines.insert(others, WrittenLine::new(level, 1, now)),
        }
        false
    }

    fn budget(&mut self, place: CodePlace, now: Instant) -> bool {
        let budget = self.budgets.entry(place).or_insert(LineBudget { left: AT_ONCE, since: now });
        while budget.left < AT_ONCE && now.duration_since(budget.since) >= ONE_MORE {
            (budget.left, budget.since) = (budget.left + 1, budget.since + ONE_MORE);
        }
        if budget.left == AT_ONCE {
            budget.since = now;
        }
        let has_one = budget.left > 0;
        budget.left = budget.left.saturating_sub(1);
        has_one
    }

    /// The counts whose time has come; `all` of them at the end.
    fn due(&mut self, now: Instant, all: bool) -> Vec<LineCount> {
        let mut due = Vec::new();
        self.lines.retain(|text, line| {
            let span = now.duration_since(line.since);
            if line.times == 0 {
                return now.duration_since(line.last) < FORGOTTEN;
            }
            if all || span >= line.pause {
                let (level, text, times) = (line.level, text.clone(), line.times);
                due.push(LineCount { level, text, times, span });
                (line.times, line.since) = (0, now);
                line.pause = (line.pause * 2).min(LONGEST_COUNT);
            }
            true
        });
        due
    }
}

impl WrittenLine {
    const fn new(level: Level, times: u64, now: Instant) -> Self {
        Self { level, times, since: now, last: now, pause: FIRST_COUNT }
    }
}

/// The text of a line, with its fields.
#[derive(Debug, Default)]
struct LineText {
    message: String,
    fields: String,
}

impl LineText {
    /// The message and the fields, cut short.
    fn text(mut self) -> String {
        self.message.push_str(&self.fields);
        if self.message.len() > LONGEST {
            let ends = (0..=LONGEST).rev().find(|&end| self.message.is_char_boundary(end));
            self.message.truncate(ends.unwrap_or(0));
            self.message.push_str("...");
        }
        self.message
    }
}

impl Visit for LineText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a text does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            COUNTED_ON => Ok(()),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{Layer, Registry};

    use super::*;

    static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    struct TestLog;

    impl io::Write for TestLog {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            WRITTEN.lock().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is left out keeps nothing else out.
    #[test]
    fn the_line_after_one_that_is_left_out_is_written() {
        let layer = tracing_subscriber::fmt::layer().with_writer(|| TestLog).without_time();
        let layer = layer.with_ansi(false).with_filter(FirstOnly(LevelFilter::INFO));
        tracing::subscriber::with_default(Registry::default().with(layer), || {
            for number in 0..3 {
                tracing::warn!("it comes again");
                tracing::info!(number, "a change");
                tracing::debug!("not asked for");
            }
        });
        let written = String::from_utf8(std::mem::take(&mut *WRITTEN.lock())).unwrap();
        let lines = written.lines().map(|line| line.split_whitespace().next().unwrap_or_default());
        assert_eq!(lines.collect::<Vec<_>>(), ["WARN", "INFO", "INFO", "INFO"], "{written}");
    }

    const HERE: CodePlace = ("a.rs", 1);
    const SECOND: Duration = Duration::from_secs(1);

    fn times(counts: &[LineCount]) -> Vec<(u64, u64)> {
        counts.iter().map(|count| (count.times, count.span.as_secs())).collect()
    }

    #[test]
    fn the_first_line_is_written_and_the_others_are_counted_ever_more_seldom() {
        let (mut lines, start) = (RepeatedLines::default(), Instant::now());
        let (mut written, mut counts) = (0, Vec::new());
        for second in 0..1000 {
            let now = start + SECOND * second;
            for _ in 0..80 {
                written += u32::from(lines.is_new(Level::WARN, HERE, "no".to_owned(), now));
            }
            counts.extend(lines.due(now, false));
        }
        assert_eq!(written, 1);
        assert_eq!(times(&counts)[..3], [(879, 10), (1600, 20), (3200, 40)]);
        assert!(counts.len() < 8, "{counts:?}");
        // Nothing is lost, and each is counted once.
        counts.extend(lines.due(start + SECOND * 1000, true));
        assert_eq!(counts.iter().map(|count| count.times).sum::<u64>(), 80 * 1000 - 1);
    }

    #[test]
    fn a_line_that_comes_seldom_is_written_each_time() {
        let (mut lines, start) = (RepeatedLines::default(), Instant::now());
        for hour in 0..5 {
            let now = start + Duration::from_secs(3600) * hour;
            assert!(lines.is_new(Level::ERROR, HERE, "no".to_owned(), now));
            assert!(lines.due(now + SECOND, false).is_empty());
        }
    }

    /// One line that is tried every minute is not written every minute.
    #[test]
    fn the_longest_pause_of_what_is_tried_again_is_not_forgotten() {
        let (mut lines, start) = (RepeatedLines::default(), Instant::now());
        let mut written = 0;
        for minute in 0..60 {
            let now = start + Duration::from_secs(60) * minute;
            written += u32::from(lines.is_new(Level::WARN, HERE, "no".to_owned(), now));
            written += u32::try_from(lines.due(now, false).len()).unwrap();
        }
        assert!(written < 15, "{written}");
    }

    fn is_written(lines: &mut RepeatedLines, tenant: u32, place: CodePlace, now: Instant) -> bool {
        lines.is_new(Level::WARN, place, format!("tenant {tenant}"), now)
    }

    #[test]
    fn different_lines_are_all_written_up_to_a_bound() {
        let (mut lines, now) = (RepeatedLines::default(), Instant::now());
        assert!((0..AT_ONCE).all(|tenant| is_written(&mut lines, tenant, HERE, now)));
        assert!((100..102).all(|tenant| !is_written(&mut lines, tenant, HERE, now)));
        let elsewhere = ("b.rs", 1);
        assert!(is_written(&mut lines, 102, elsewhere, now), "another place has its own bound");
        assert!(is_written(&mut lines, 103, HERE, now + ONE_MORE));
        assert!(!is_written(&mut lines, 104, HERE, now + ONE_MORE));
        let counts = lines.due(now + FIRST_COUNT, false);
        assert_eq!((times(&counts), counts.len()), (vec![(3, 10)], 1));
        assert_eq!(counts[0].text, "lines of a.rs:1 with another text");
    }

    #[test]
    fn what_is_known_is_bounded_and_cut_short() {
        let (mut lines, now) = (RepeatedLines::default(), Instant::now());
        for number in 0..5000 {
            let place = ("a.rs", number);
            lines.is_new(Level::WARN, place, format!("line {number}"), now);
        }
        assert!(lines.lines.contains_key("line 999") && !lines.lines.contains_key("line 1000"));
        let text = LineText { message: "ä".repeat(1000), fields: String::new() }.text();
        assert!(text.len() <= LONGEST + 3 && text.ends_with("ä..."), "{text}");
    }
}
