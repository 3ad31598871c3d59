//! Names of programs that are easy to write.

use std::collections::BTreeMap;

use fairways_programs::Selector;

/// The name of a program that a selector finds.
pub fn program_name(selector: &Selector) -> String {
    let text = match selector {
        Selector::Unit(unit) | Selector::UserUnit(unit) => {
            unit.rsplit_once('.').map_or(unit.as_str(), |(name, _)| name).to_owned()
        }
        Selector::Process { pattern, .. } => pattern.clone(),
        Selector::PodsOf { name, .. } => name.clone(),
        Selector::Cgroup(path) => path.rsplit('/').next().unwrap_or_default().to_owned(),
        other => other.to_string(),
    };
    easy_name(&text)
}

/// A text as a name with only letters, digits and `-_.:`.
pub(super) fn easy_name(text: &str) -> String {
    let is_easy = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    let easy: String =
        text.chars().map(|letter| if is_easy(letter) { letter } else { '-' }).take(48).collect();
    if easy.trim_matches('-').is_empty() { "program".to_owned() } else { easy }
}

/// A name that is not in use: followed by a number if necessary. `names` has the names in use, each
/// with the last number that was tried.
pub fn unique_name(name: &str, names: &mut BTreeMap<String, u32>) -> String {
    let Some(mut number) = names.get(name).copied() else {
        names.insert(name.to_owned(), 1);
        return name.to_owned();
    };
    loop {
        number += 1;
        let numbered = format!("{name}-{number}");
        if !names.contains_key(&numbered) {
            names.insert(name.to_owned(), number);
            names.insert(numbered.clone(), 1);
            return numbered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_easy_and_differ() {
        for (selector, expected) in [
            ("unit:web@1.service", "web-1"),
            ("cgroup:/batch/night shift", "night-shift"),
            ("pod:web/api-*", "api--"),
            ("process:mlr", "mlr"),
            ("container:*", "container:-"),
            ("cgroup:/", "program"),
        ] {
            assert_eq!(program_name(&selector.parse().unwrap()), expected, "{selector}");
        }
        let mut names = BTreeMap::new();
        let found = ["a", "a-2", "a", "a", "b", "a-2"].map(|name| unique_name(name, &mut names));
        assert_eq!(found, ["a", "a-2", "a-3", "a-4", "b", "a-2-2"]);
    }
}
