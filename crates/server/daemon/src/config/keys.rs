//! The list of all keys.

use super::Config;

/// Every key that a file may have (`resctrl.root`, `program.name`), for documentation. They are the
/// keys that the reader itself lists when it finds an unknown one.
pub fn keys() -> Vec<String> {
    let mut keys = Vec::new();
    for key in listed("nonesuch = 1").unwrap_or_default() {
        let below = match key.as_str() {
            "parameters" => None,
            "program" => listed("[[program]]\nnonesuch = 1"),
            // A key is no table if its value may not be one.
            _ => listed(&format!("[{key}]\nnonesuch = 1")),
        };
        match below {
            Some(below) => {
                for below in below {
                    let wrong = format!("[[{key}.{below}]]\nnonesuch = 1");
                    let rules =
                        Some(&below).filter(|below| *below == "pods").map(|_| listed(&wrong));
                    match rules.flatten() {
                        Some(rules) => keys
                            .extend(rules.into_iter().map(|rule| format!("{key}.{below}.{rule}"))),
                        None => keys.push(format!("{key}.{below}")),
                    }
                }
            }
            None => keys.push(key),
        }
    }
    keys
}

/// The known fields that an error about an unknown one lists; `None` for another error.
fn listed(text: &str) -> Option<Vec<String>> {
    let why = toml::from_str::<Config>(text).err()?;
    let (unknown, expected) = why.message().split_once("expected ")?;
    let names = expected.split('`').skip(1).step_by(2).map(str::to_owned);
    unknown.contains("unknown field").then(|| names.collect())
}
