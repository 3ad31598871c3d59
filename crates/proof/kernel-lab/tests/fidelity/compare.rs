//! Compares two transcripts.

use std::fmt::Write as _;

/// The most differences that are shown.
const SHOWN: usize = 6;

/// Steps before a difference that are shown with it.
const BEFORE: usize = 8;

/// Blocks of lines: each begins with a step.
fn blocks(sequence: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in sequence.lines() {
        match blocks.last_mut() {
            Some(last) if !line.starts_with('>') => *last += &format!("\n{line}"),
            _ => blocks.push(line.into()),
        }
    }
    blocks
}

/// The first steps of each sequence that differ; none if all is the same.
pub(crate) fn compare(kernel: &str, ours: &str) -> Result<(), String> {
    let (theirs, ours): (Vec<_>, Vec<_>) =
        (kernel.split("\n# ").collect(), ours.split("\n# ").collect());
    assert_eq!(theirs.len(), ours.len(), "the kernel did not come to the end");
    let mut report = String::new();
    let mut differ = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let (theirs, ours) = (blocks(theirs), blocks(ours));
        let Some(at) = theirs.iter().zip(&ours).position(|(a, b)| a != b) else { continue };
        differ += 1;
        if differ > SHOWN {
            continue;
        }
        let _ = writeln!(report, "-- {}", theirs[0]);
        for block in &theirs[at.saturating_sub(BEFORE).max(1)..at] {
            let _ = writeln!(report, "{}", block.lines().take(3).collect::<Vec<_>>().join("   "));
        }
        let (theirs, ours): (Vec<_>, Vec<_>) =
            (theirs[at].lines().collect(), ours[at].lines().collect());
        let _ = writeln!(report, "{}", theirs[0]);
        for line in theirs.iter().filter(|line| !ours.contains(line)).take(8) {
            let _ = writeln!(report, "    kernel {line}");
        }
        for line in ours.iter().filter(|line| !theirs.contains(line)).take(8) {
            let _ = writeln!(report, "    ours   {line}");
        }
    }
    if differ == 0 { Ok(()) } else { Err(format!("{differ} sequences differ\n{report}")) }
}
