//! Commands of pages whose time scale is too small for a policy that they name.

use std::process::Command;

use super::page::Page;
use super::words::{ends, said};

/// What makes each command short; its own flags of these names are left out.
const SHORT: [(&str, &str); 6] = [
    ("simulate", "--warm-up 1ms --duration 1ms"),
    ("run", "--duration 1ms"),
    ("trial", "--learn 1ms --block 1ms --duration 6ms"),
    ("blame", "--duration 1ms"),
    ("top", "--duration 1ms --once"),
    // It is not mounted: the folder does not exist.
    ("emulate", ""),
];

/// Flags with a file to write, a time that would be beyond the end, or without a warning.
const LEFT_OUT: [&str; 4] = ["--journal", "--plot", "--since", "--quiet"];

/// Pages whose figures are of a scale that is too small, with the reason.
const TOO_SMALL: [(&str, &str); 2] = [
    (
        "docs/noisy-neighbour.md",
        "at 0.1, which its objective needs, an emulator in lockstep takes minutes for the page",
    ),
    ("docs/policies/fairways.md", "a miss that was seen at 0.02, not yet looked for at 0.1"),
];

/// The warnings of a page's commands that have a time scale, and how many these are.
pub(crate) fn warnings(page: &Page) -> (Vec<String>, usize) {
    let consoles = page.blocks.iter().filter(|block| block.language == "console");
    let shown = consoles.flat_map(|block| block.text.lines());
    let shown = shown.filter_map(|line| line.strip_prefix("$ ").map(str::to_owned));
    let commands = said(page).into_iter().chain(shown);
    let of_scale = commands.filter_map(|command| Some((short(&command)?, command)));
    let (mut warnings, mut count) = (Vec::new(), 0);
    let is_known = TOO_SMALL.iter().any(|(name, _)| *name == page.name);
    for (short, command) in of_scale {
        count += 1;
        let warning = warning(&short).filter(|warning| {
            // The daemon has the policy, and its configuration is on the page.
            short[0] != "emulate" || managing(page).any(|policy| names(warning, policy))
        });
        warnings.extend(warning.map(|warning| format!("{}: {command}: {warning}", page.name)));
    }
    if is_known {
        // An entry that is not needed any more goes.
        assert!(!warnings.is_empty(), "{}: no scale is too small", page.name);
        warnings.clear();
    }
    (warnings, count)
}

/// A command that is over at once and begins as this one does, if it has a time scale.
fn short(command: &str) -> Option<Vec<String>> {
    let words = shell_words::split(command).ok()?;
    let mut words = words.into_iter().skip(1).take_while(|word| !ends(word)).peekable();
    let verb = words.next()?;
    let (_, added) = SHORT.iter().find(|(known, _)| *known == verb)?;
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next_if(|next| word.starts_with('-') && !next.starts_with('-'));
        pairs.push((word, value));
    }
    pairs.iter().find(|(word, _)| word == "--time-scale")?;
    fn recorded(text: &str) -> bool {
        ["live:", "trace:", "stream:"].iter().any(|of| text.contains(of))
    }
    let mut line = vec![verb.clone()];
    for (word, value) in pairs {
        if added.split(' ').any(|flag| flag == word) || LEFT_OUT.contains(&&*word) {
            continue;
        }
        match value {
            // The files are not there, and the least scale is one of the chip and the policy.
            Some(value) if recorded(&value) && word == "--programs" => {
                line.extend([word, "mload:60M".to_owned()]);
            }
            Some(value) if recorded(&value) => {}
            Some(value) => line.extend([word, value]),
            None if verb == "emulate" && !word.starts_with('-') => {}
            None => line.push(word),
        }
    }
    if !line.iter().any(|word| word == "--programs") {
        // The text says which.
        line.extend(["--programs", "mload:60M"].map(str::to_owned));
    }
    if verb == "emulate" {
        line.push("/nonexistent/resctrl".to_owned());
    }
    line.extend(added.split_whitespace().map(str::to_owned));
    Some(line)
}

fn warning(line: &[String]) -> Option<String> {
    let mut command = Command::new(fairways_doors::fairways_lab());
    let output = command.args(line).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    // `blame` finds no window in so short a run.
    let is_understood = output.status.code() != Some(2) || line[0] == "emulate";
    assert!(is_understood, "{}: {errors}", line.join(" "));
    errors.lines().find(|line| line.contains(" is too small for ")).map(str::to_owned)
}

/// Whether the warning names the policy.
fn names(warning: &str, policy: &str) -> bool {
    warning.contains(&format!(" {policy} (least"))
}

/// The policies of the configurations that a page shows; the default one where there is none.
fn managing(page: &Page) -> impl Iterator<Item = &str> {
    let mut policies: Vec<&str> = page
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("policy = \"")?.strip_suffix('"'))
        .collect();
    if policies.is_empty() {
        policies.push(fairways_policy::DEFAULT);
    }
    policies.into_iter()
}

#[test]
fn a_scale_that_is_too_small_is_found_wherever_a_page_has_it() {
    fn warned(text: &str) -> (usize, usize) {
        let (warnings, count) = warnings(&Page::of("page".to_owned(), text.to_owned()));
        (warnings.len(), count)
    }
    let chip = "--machine chip:xeon-d --programs mlr:1M";
    for (scale, few) in [("0.02", 0), ("0.0125", 1)] {
        let command =
            format!("fairways-lab simulate {chip} --policies stock,dcat --time-scale {scale}");
        assert_eq!(warned(&format!("```sh\n{command} \\\n    --duration 1s\n```\n")), (few, 1));
        assert_eq!(warned(&format!("```console\n$ {command}\nx\n```\n")), (few, 1));
        assert_eq!(warned(&format!("It is `{}`.\n", command.replace(' ', "\n"))), (few, 1));
        let recorded = command.replace("mlr:1M", "stream:none,mlr:1M");
        assert_eq!(warned(&format!("```sh\n{recorded}\n```\n")), (few, 1));
        let command = format!("fairways-lab emulate {chip} --time-scale {scale} $here/resctrl &");
        let page = format!("```sh\n{command}\ncat << END\npolicy = \"dcat\"\nEND\n```\n");
        assert_eq!(warned(&page), (few, 1));
        assert_eq!(warned(&page.replace("dcat", "stock")), (0, 1));
    }
    assert_eq!(warned("```sh\nfairways simulate --machine chip:xeon-d\n```\n"), (0, 0));
}
