//! What a journal records, of a chip or of a host.

use std::collections::BTreeMap;

use serde_json::Value;

/// The decisions, by program number, and the programs' counts.
#[derive(Default)]
pub(crate) struct Story {
    /// The CPUs on which each program may run by the last decision, as the policy numbers them; a
    /// program that is missing may run everywhere.
    pub(crate) allowed: BTreeMap<u64, Vec<u32>>,
    /// When something was first estimated, in nanoseconds.
    pub(crate) estimated: u64,
    /// The last PCMRs.
    pub(crate) pcmrs: BTreeMap<u64, f64>,
    /// The last fair miss rates, per 1000 cycles.
    pub(crate) fair: BTreeMap<u64, f64>,
    /// The total counts of each thread in the times in which it ran with others.
    pub(crate) counted: BTreeMap<u64, Counted>,
    /// Each program's turns: the ordered and the real length, in nanoseconds.
    pub(crate) turns: BTreeMap<u64, Vec<(u64, u64)>>,
    /// The ordered length of each program's turns, in nanoseconds.
    pub(crate) ordered: BTreeMap<u64, Vec<u64>>,
    /// The number of each event and action.
    pub(crate) words: BTreeMap<String, u64>,
}

/// The counts of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) instructions: u64,
    pub(crate) cycles: u64,
    pub(crate) references: u64,
    pub(crate) misses: u64,
}

impl Story {
    /// Reads a journal, whose first line is the header.
    pub(crate) fn read(text: &str) -> Self {
        let mut story = Self::default();
        for line in text.lines().skip(1) {
            // A daemon that is still running has written half of the last line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { break };
            for what in ["event", "action"] {
                match &line[what] {
                    Value::Object(said) => {
                        let (word, of) = said.iter().next().unwrap();
                        *story.words.entry(word.clone()).or_default() += 1;
                        if word == "estimated" && story.words[word] == 1 {
                            story.estimated = line["at"].as_u64().unwrap();
                        }
                        story.hear(word, of);
                    }
                    Value::String(word) => *story.words.entry(word.clone()).or_default() += 1,
                    _ => {}
                }
            }
        }
        story
    }

    fn hear(&mut self, word: &str, of: &Value) {
        let app = of["thread"]["app"].as_u64();
        match word {
            "allow" => {
                let cpus = of["cpus"].as_array().unwrap().iter();
                let cpus = cpus.map(|cpu| u32::try_from(cpu.as_u64().unwrap()).unwrap());
                self.allowed.insert(app.unwrap(), cpus.collect());
            }
            "estimated" => {
                let what = of["what"].as_str().unwrap();
                let of_that = match what.split([',', ' ']).next() {
                    Some("PCMR") => &mut self.pcmrs,
                    _ if what.starts_with("fair miss rate") => &mut self.fair,
                    _ => return,
                };
                let value = of["value"].as_str().map(|text| text.parse().unwrap());
                of_that.insert(app.unwrap(), value.or(of["value"].as_f64()).unwrap());
            }
            "quantum_given" => {
                let turn = (of["ordered"].as_u64().unwrap(), of["ran"].as_u64().unwrap());
                self.turns.entry(app.unwrap()).or_default().push(turn);
            }
            "quantum" => {
                let time = of["time"].as_u64().unwrap();
                self.ordered.entry(app.unwrap()).or_default().push(time);
            }
            "ran_together" => {
                for ran in of["threads"].as_array().unwrap() {
                    let app = ran["thread"]["app"].as_u64().unwrap();
                    let number = |name: &str| ran["counters"][name].as_u64().unwrap_or(0);
                    let counted = self.counted.entry(app).or_default();
                    counted.instructions += number("instructions");
                    counted.cycles += number("cycles");
                    counted.references += number("llc_references");
                    counted.misses += number("llc_misses");
                }
            }
            _ => {}
        }
    }

    /// The CPUs, of the first `count`, on which a program may run.
    pub(crate) fn cpus_of(&self, app: u64, count: usize) -> Vec<u32> {
        let count = u32::try_from(count).unwrap();
        let known: Vec<u32> = self.allowed.get(&app).into_iter().flatten().copied().collect();
        let known: Vec<u32> = known.into_iter().filter(|cpu| *cpu < count).collect();
        if known.is_empty() { (0..count).collect() } else { known }
    }
}
