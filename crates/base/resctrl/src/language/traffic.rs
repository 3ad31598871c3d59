//! How memory traffic is counted: by assigned counters or not, and which transactions.

use std::fmt;

use super::transactions::{LOCAL_TRANSACTIONS, TRANSACTIONS};
use super::{LanguageError, by_domain, plain};

/// The events of traffic, with the transactions that each counts by default (resctrl.rst,
/// `mbm_total_bytes_config`).
const EVENTS: [(&str, u32); 2] =
    [("mbm_total_bytes", 0x7f), ("mbm_local_bytes", LOCAL_TRANSACTIONS)];

/// How traffic is counted now. Anybody may change it at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedTraffic {
    /// Counters, where hardware has some that can be assigned to groups.
    pub counters: Option<TrafficCounters>,
    /// Events that do not count what they count by default.
    pub filtered: Vec<FilteredEvent>,
}

/// Counters that can be assigned to groups (`mbm_assign_mode`, since Linux 6.18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficCounters {
    /// Those of each domain (`num_mbm_cntrs`).
    pub each: Vec<(u32, u32)>,
    /// Those of each domain that no group has (`available_mbm_cntrs`). `None` in the mode
    /// `default`: hardware gives them to groups by itself.
    pub free: Option<Vec<(u32, u32)>>,
}

/// An event that does not count what it counts by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredEvent {
    /// Its name.
    pub event: String,
    /// The domain in which it is so; `None` in all (`event_filter`).
    pub domain: Option<u32>,
    /// The transactions that it counts: bits as in `mbm_total_bytes_config`.
    pub counted: u32,
}

impl CountedTraffic {
    /// Reads what the files of `info/L3_MON` show; `file` returns the text of one by its path
    /// there, and nothing if it does not exist.
    ///
    /// # Errors
    /// If a file is not of its form.
    pub fn read(mut file: impl FnMut(&str) -> Option<String>) -> Result<Self, LanguageError> {
        let counters = match file("num_mbm_cntrs") {
            Some(each) => {
                let mode = file("mbm_assign_mode").unwrap_or_default();
                let is_assigned = mode.lines().any(|line| line == "[mbm_event]");
                let free = if is_assigned { file("available_mbm_cntrs") } else { None };
                let each = numbers("num_mbm_cntrs", &each)?;
                let free = free.map(|text| numbers("available_mbm_cntrs", &text)).transpose()?;
                Some(TrafficCounters { each, free })
            }
            None => None,
        };
        let is_assigned = counters.as_ref().is_some_and(|counters| counters.free.is_some());
        let mut filtered = Vec::new();
        for (event, usual) in EVENTS {
            let found = if is_assigned {
                let text = file(&format!("event_configs/{event}/event_filter"));
                text.map(|text| filter(&text)).transpose()?.into_iter().collect()
            } else {
                let text = file(&format!("{event}_config"));
                text.map(|text| configured(&text)).transpose()?.unwrap_or_default()
            };
            let changed = found.into_iter().filter(|&(_, counted)| counted != usual);
            filtered.extend(changed.map(|(domain, counted)| FilteredEvent {
                event: event.to_owned(),
                domain,
                counted,
            }));
        }
        Ok(Self { counters, filtered })
    }

    /// Whether an event counts something else than by default in a domain.
    #[must_use]
    pub fn is_filtered(&self, event: &str, domain: u32) -> bool {
        let mut of_event = self.filtered.iter().filter(|of| of.event == event);
        of_event.any(|of| of.domain.is_none_or(|of| of == domain))
    }
}

/// The counters of a group (`mbm_L3_assignments`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignments {
    /// For each event, whether it has a counter, by domain.
    events: Vec<(String, Vec<(u32, bool)>)>,
}

impl Assignments {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If it is not of the form of resctrl.rst. An `e` is a counter; any other state is none.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        let what = "assignments";
        let mut events = Vec::new();
        for line in text.lines() {
            let (event, domains) = line
                .split_once(':')
                .ok_or_else(|| LanguageError::new(what, line, "event:domain=state"))?;
            let domains = by_domain(what, domains, |state| Ok(state.contains('e')))?;
            events.push((event.to_owned(), domains));
        }
        Ok(Self { events })
    }

    /// The domains in which an event has a counter.
    pub fn assigned(&self, event: &str) -> impl Iterator<Item = u32> {
        let of_event = self.events.iter().filter(move |(name, _)| name == event);
        let domains = of_event.flat_map(|(_, domains)| domains);
        domains.filter(|(_, is_assigned)| *is_assigned).map(|&(domain, _)| domain)
    }
}

fn numbers(what: &'static str, text: &str) -> Result<Vec<(u32, u32)>, LanguageError> {
    let expected = "a number of counters for each domain";
    by_domain(what, text.trim(), |number| {
        plain(number).ok_or_else(|| LanguageError::new(what, number, expected))
    })
}

/// A text of `event_filter`.
fn filter(text: &str) -> Result<(Option<u32>, u32), LanguageError> {
    let mut bits = 0;
    for name in text.trim().split(',').filter(|name| !name.is_empty()) {
        let bit = TRANSACTIONS.iter().position(|known| *known == name);
        let bit = bit.ok_or_else(|| {
            LanguageError::new("event_filter", name, "transactions that resctrl.rst names")
        })?;
        bits |= 1 << bit;
    }
    Ok((None, bits))
}

/// A text of `mbm_total_bytes_config`.
fn configured(text: &str) -> Result<Vec<(Option<u32>, u32)>, LanguageError> {
    let what = "event configuration";
    let domains = by_domain(what, text.trim(), |bits| {
        let digits = bits.strip_prefix("0x").unwrap_or(bits);
        u32::from_str_radix(digits, 16)
            .map_err(|_| LanguageError::new(what, bits, "bits in hexadecimal"))
    })?;
    Ok(domains.into_iter().map(|(domain, bits)| (Some(domain), bits)).collect())
}

/// `mbm_total_bytes counts only local_reads in domain 0`.
impl fmt::Display for FilteredEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = TRANSACTIONS.iter().enumerate();
        let counted = counted.filter(|(bit, _)| self.counted >> bit & 1 == 1);
        let names: Vec<&str> = counted.map(|(_, name)| *name).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        write!(f, "{} counts {names}", self.event)?;
        match self.domain {
            Some(domain) => write!(f, " in domain {domain}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> CountedTraffic {
        CountedTraffic::read(|path| {
            files.iter().find(|(name, _)| *name == path).map(|&(_, text)| text.to_owned())
        })
        .expect("it can be read")
    }

    #[test]
    fn counters_are_read_in_either_mode() {
        let files = [
            ("num_mbm_cntrs", "0=32;8=32\n"),
            ("mbm_assign_mode", "[mbm_event]\ndefault\n"),
            ("available_mbm_cntrs", "0=30;8=0\n"),
            ("event_configs/mbm_total_bytes/event_filter", "local_reads,remote_reads\n"),
        ];
        let counted = read(&files);
        let counters = counted.counters.as_ref().expect("there are some");
        assert_eq!(counters.free, Some(vec![(0, 30), (8, 0)]));
        let said: Vec<String> = counted.filtered.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["mbm_total_bytes counts local_reads, remote_reads"]);
        assert!(counted.is_filtered("mbm_total_bytes", 8));
        let counted = read(&[files[0], ("mbm_assign_mode", "[default]\nmbm_event\n"), files[2]]);
        assert_eq!(counted.counters.expect("there are some").free, None);
    }

    #[test]
    fn assignments_are_read() {
        let text = "mbm_total_bytes:0=e;1=_;8=e\nmbm_local_bytes:0=_;1=_;8=_\n";
        let read = Assignments::parse(text).expect("the kernel's form");
        assert_eq!(read.assigned("mbm_total_bytes").collect::<Vec<_>>(), [0, 8]);
        assert_eq!(read.assigned("mbm_local_bytes").count(), 0);
        assert!(Assignments::parse("mbm_total_bytes\n").is_err());
    }

    #[test]
    fn what_somebody_configured_is_named() {
        assert_eq!(read(&[]), CountedTraffic::default());
        let counted = read(&[
            ("mbm_total_bytes_config", "0=0x7f;1=0x33\n"),
            ("mbm_local_bytes_config", "0=0x15;1=0x15\n"),
        ]);
        assert!(!counted.is_filtered("mbm_total_bytes", 0));
        assert_eq!(counted.filtered.len(), 1);
        assert!(counted.filtered[0].to_string().ends_with("remote_reads_slow_memory in domain 1"));
        let wrong = CountedTraffic::read(|_| Some("0=x\n".to_owned())).expect_err("no number");
        assert_eq!(
            wrong.to_string(),
            "num_mbm_cntrs `x`: expected a number of counters for each domain"
        );
    }
}
