//! How near the output has to be to what a page shows.

use super::named::Like;

/// Whether two outputs are alike; to the byte, unless another rule is named.
pub(crate) fn same(shown: &str, printed: &str, like: Option<Like>) -> bool {
    // The blocks run in a PID namespace of their own, which readers are not in.
    let of_readers =
        printed.lines().filter(|line| !line.contains(": Fairways runs in a PID namespace"));
    let printed = &of_readers.fold(String::new(), |all, line| all + line + "\n");
    match like {
        None => shown.trim_end() == printed.trim_end(),
        Some(Like::Elsewhere) => true,
        Some(like) => {
            let (shown, printed) = (words(shown), words(printed));
            let near = |(shown, printed): (&String, &String)| near(shown, printed, like);
            shown.len() == printed.len() && shown.iter().zip(&printed).all(near)
        }
    }
}

/// The words; lines that state for how long something has run are taken without that time.
fn words(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let after = line.find(" after ").filter(|_| line.ends_with(" s"));
        after.map_or(line, |after| &line[..after])
    });
    let words = lines.flat_map(str::split_whitespace);
    words.filter(|word| !word.starts_with(['─', '═', '█'])).map(str::to_owned).collect()
}

fn near(shown: &str, printed: &str, like: Like) -> bool {
    let number = |word: &str| word.contains('.').then(|| word.parse::<f64>().ok()).flatten();
    match like {
        Like::Nearly => match (number(shown), number(printed)) {
            (Some(shown), Some(printed)) => (shown - printed).abs() <= 0.25 * shown.abs() + 0.02,
            _ => shown == printed,
        },
        Like::Elsewhere => true,
        Like::Shape => {
            let masked = |word: &str| {
                word.replace(|of: char| of.is_ascii_digit() || of == '.', "").replace('(', "")
            };
            masked(shown) == masked(printed)
        }
    }
}

#[test]
fn what_is_compared_nearly_is_compared() {
    let shown = "dcat after 9.000 s\n─────\nweb 7 0x1fc 0.18\n";
    let is = |printed: &str| same(shown, printed, Some(Like::Nearly));
    assert!(is("dcat after 12.000 s\n──────\nweb 7  0x1fc 0.19\n"));
    for wrong in ["web 8 0x1fc 0.18", "web 7 0x1fe 0.18", "web 7 0x1fc 0.28", "web 7 0x1fc -"] {
        assert!(!is(&format!("dcat after 9.000 s\n─────\n{wrong}\n")), "{wrong}");
    }
    assert!(!same("a 1.5\n", "a 1.6\n", None) && same("a 1.5\n", "a 1.6\n", Some(Like::Shape)));
    assert!(!same("a 1.5\n", "b 1.5\n", Some(Like::Shape)));
}
