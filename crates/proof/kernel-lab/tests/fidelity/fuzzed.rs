//! The fuzzed texts of `fuzz/corpus/resctrl`, written to the same files on both.
//!
//! An entry's bytes have the meaning of `crates/lab/resctrl-rules/tests/rules/sound.rs`: the first
//! picks the options; then come writes, split by bytes of 255, of which the first byte picks the
//! file. Here there is one machine, and one more set of options in place of the other machine's.
//! Requests for more than the corpus has get entries with pieces of others in them.

use fairways_kernel_lab::generate::THRESHOLD;
use fairways_kernel_lab::steps::{LABELS, Rules, Step, Target, run};
use fairways_resctrl_rules::platform::Platform;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const OPTIONS: [&str; 5] = ["", "cdp", "mba_MBps", "debug", ""];

/// The file of the threshold, which outlives the mount.
const OCCUPANCY: &str = "info/L3_MON/max_threshold_occupancy";

/// The most bytes of a piece of another entry.
const PIECE: usize = 8;

/// The entries with their names, mixed by a seed, and then as many more as needed.
pub(crate) fn corpus(seed: u64) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut entries = fairways_testing::corpora::inputs("resctrl");
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    for last in (1..entries.len()).rev() {
        entries.swap(last, below(&mut rng, last + 1));
    }
    let own = entries.clone();
    entries
        .into_iter()
        .chain((0_u64..).map(move |number| (format!("mixed {number}"), mixed(&own, &mut rng))))
}

/// One of the numbers below `n`, which is not 0.
fn below(rng: &mut Pcg64Mcg, n: usize) -> usize {
    let n = u64::try_from(n).expect("few");
    usize::try_from(rng.next_u64() % n).expect("fewer")
}

/// An entry with pieces of others in place of its own, or inserted.
fn mixed(entries: &[(String, Vec<u8>)], rng: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = entries[below(rng, entries.len())].1.clone();
    for _ in 0..=below(rng, 4) {
        let other = &entries[below(rng, entries.len())].1;
        let from = below(rng, other.len().max(1));
        let piece = &other[from..other.len().min(from + below(rng, PIECE) + 1)];
        let at = below(rng, bytes.len().max(1)).min(bytes.len());
        let until = if below(rng, 2) == 0 { at } else { bytes.len().min(at + piece.len()) };
        bytes.splice(at..until, piece.iter().copied());
    }
    bytes
}

/// The steps of an entry on that machine.
pub(crate) fn steps(name: &str, bytes: &[u8], platform: &Platform) -> Vec<Step> {
    let Some((&first, bytes)) = bytes.split_first() else { return Vec::new() };
    let options = OPTIONS[usize::from(first) % OPTIONS.len()];
    let known = options != "debug" || platform.kernel.debug_option;
    let options = if known { options } else { "" };
    let mut steps = vec![Step::Sequence(name.into()), Step::Reset(options.into())];
    if options != "cdp" {
        steps.extend(["a", "b"].map(|group| Step::Mkdir(group.into())));
        for (file, ways) in [("schemata", "c00"), ("a/schemata", "00f"), ("b/schemata", "0f0")] {
            steps.push(Step::Write(file.into(), format!("L3:0={ways};1={ways}\n").into()));
        }
        steps.push(Step::Write("a/mode".into(), b"exclusive\n".into()));
        steps.push(Step::Mkdir("a/mon_groups/m".into()));
    }
    let files = writable(&steps, platform);
    for write in bytes.split(|&byte| byte == 255) {
        let Some((&file, text)) = write.split_first() else { continue };
        let path = &files[usize::from(file) % files.len()];
        let text = if path.ends_with("tasks") { with_tasks(text) } else { text.to_vec() };
        // FUSE does not pass on a write of no bytes; and a number that is no task's id is not the
        // same on both.
        if text.is_empty() || has_loose_label(&text, path.ends_with("tasks")) {
            continue;
        }
        steps.push(Step::Write(path.clone(), text));
    }
    steps.push(Step::Tree);
    if steps.iter().any(|step| matches!(step, Step::Write(path, _) if path == OCCUPANCY)) {
        steps.push(Step::Write(OCCUPANCY.into(), format!("{THRESHOLD}\n").into()));
    }
    steps
}

/// Whether a text has a label that a kernel's answer would not contain: in a file without tasks, or
/// as a part of a longer number.
fn has_loose_label(text: &[u8], of_tasks: bool) -> bool {
    LABELS.iter().any(|label| {
        let name = label.name.as_bytes();
        let mut at = (0..text.len()).filter(|&at| text[at..].starts_with(name));
        at.any(|at| {
            let beside = [at.checked_sub(1), Some(at + name.len())];
            let mut beside = beside.into_iter().flatten().filter_map(|at| text.get(at));
            !of_tasks || beside.any(u8::is_ascii_alphanumeric)
        })
    })
}

/// Files that can be written after these steps, from the root on.
fn writable(steps: &[Step], platform: &Platform) -> Vec<String> {
    let mut rules = Rules::new(platform.clone());
    run(&mut rules, steps, &mut std::io::sink()).expect("a sink takes everything");
    let mut directories = vec![String::new()];
    let mut files = Vec::new();
    let mut at = 0;
    while at < directories.len() {
        let directory = directories[at].clone();
        for entry in rules.list(&directory).expect("it is there") {
            let path = match directory.as_str() {
                "" => entry.name,
                _ => format!("{directory}/{}", entry.name),
            };
            if entry.directory {
                directories.push(path);
            } else if entry.permissions & 0o200 != 0 {
                files.push(path);
            }
        }
        at += 1;
    }
    files
}

/// Numbers of tasks: those of the fuzzer's world become labels; others that a machine may have
/// become ones that none has.
fn with_tasks(text: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let alike = rest
            .iter()
            .position(|byte| byte.is_ascii_alphanumeric() != first.is_ascii_alphanumeric());
        let (word, after) = rest.split_at(alike.unwrap_or(rest.len()));
        written.extend_from_slice(match word {
            b"100" => b"@p",
            b"101" => b"@q",
            b"102" | b"103" => b"@t",
            b"200" => b"@u",
            b"201" => b"@v",
            _ if may_be_there(word) => b"9999999",
            _ => word,
        });
        rest = after;
    }
    written
}

/// Whether a task with that number may exist, as kstrtoint(3) reads numbers; 0 and 1 are on every
/// machine.
fn may_be_there(word: &[u8]) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return false };
    let lower = word.to_ascii_lowercase();
    let number = match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16),
        (None, Some(digits)) => u32::from_str_radix(digits, 8),
        (None, None) => lower.parse(),
    };
    number.is_ok_and(|number| (2..=1 << 22).contains(&number))
}
