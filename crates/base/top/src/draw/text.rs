//! Fits texts to a width.

/// Cuts a text to the width; an ellipsis shows that more follows.
pub(super) fn fit(text: &str, width: u16) -> String {
    let width = usize::from(width);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).take(width).collect()
}

/// Like [`fit`], but keeps the end of the text.
pub(super) fn fit_end(text: &str, width: u16) -> String {
    let (width, length) = (usize::from(width), text.chars().count());
    if length <= width {
        return text.to_owned();
    }
    let kept = text.chars().skip(length + 1 - width.max(1));
    ['…'].into_iter().chain(kept).take(width).collect()
}

/// Wraps words to lines of this width; from the second line on, lines are indented by `hanging`.
pub(super) fn wrap(text: &str, width: u16, hanging: usize) -> Vec<String> {
    let width = usize::from(width).max(1);
    let blanks = text.chars().take_while(|letter| *letter == ' ').count();
    let mut lines = Vec::new();
    let mut line = " ".repeat(blanks.min(width / 2));
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if !is_empty && length > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(hanging.min(width / 2))));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// A number of bytes, in the unit that keeps it small.
pub(super) fn bytes(bytes: u64) -> String {
    let units = [(30, "GB"), (20, "MB"), (10, "KB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    match unit {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_where_that_can_be_seen() {
        assert_eq!((fit("program", 7), fit("program", 4)), ("program".into(), "pro…".into()));
        assert_eq!(fit_end("/run/socket", 7), "…socket");
        assert_eq!((fit("ab", 0), fit_end("ab", 1)), (String::new(), "…".into()));
        let lines = wrap("    web: light, 3 ways of it", 16, 6);
        assert_eq!(lines, ["    web: light,", "      3 ways of", "      it"]);
        assert_eq!(wrap("incomprehensible", 4, 0), ["incomprehensible"]);
        assert_eq!((bytes(1 << 20), bytes(1_441_792)), ("1.0 MB".into(), "1.4 MB".into()));
    }
}
