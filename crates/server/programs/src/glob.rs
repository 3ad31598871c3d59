//! Patterns of names: `*` is any run of characters, `?` is any one.

/// Whether a name matches the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of) = (0, 0);
    // The last star, and how much of the name it has matched so far.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(of) {
            Some('*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(&letter) if letter == '?' || letter == name[at] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((after, taken)) = star else { return false };
                star = Some((after, taken + 1));
                at = taken + 1;
                of = after + 1;
            }
        }
    }
    pattern[of..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name) in [
            ("mlr*", "mlr3"),
            ("*", ""),
            ("a?c", "abc"),
            ("*.service", "x@1.service"),
            ("a*b*c", "aXbbYc"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("mlr", "mlr3"), ("a?c", "ac"), ("", "a"), ("a*b", "abc"), ("[a]", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
