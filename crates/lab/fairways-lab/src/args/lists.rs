//! Flags that are lists of values by name.

use fairways_chip::program::split;

/// Values of programs, by name: `PROGRAM=VALUE,...`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pairs<T>(pub(crate) Vec<(String, T)>);

/// Makes a parser of pairs of this form. A name may have an `=`, because a value has none.
pub(super) fn pairs<T>(
    form: &'static str,
    value: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<Pairs<T>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let mut pairs: Vec<(String, T)> = Vec::new();
        for pair in split(text) {
            let (name, text) =
                pair.rsplit_once('=').ok_or_else(|| format!("expected {form}, found {pair:?}"))?;
            let name = name.trim();
            if pairs.iter().any(|(other, _)| other == name) {
                return Err(format!("expected each program once, found {name:?} twice"));
            }
            let value = value(text.trim()).map_err(|why| format!("{name}: {why}"))?;
            pairs.push((name.to_owned(), value));
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_the_last_equals_sign() {
        let text = "silo-like=1400@10s+0, mlr:8M:request=500k:cv=0.6=closed:4:2ms";
        let expected =
            [("silo-like", "1400@10s+0"), ("mlr:8M:request=500k:cv=0.6", "closed:4:2ms")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let read = pairs("", |text| Ok(text.to_owned()));
        assert_eq!(read(text), Ok(Pairs(expected.to_vec())));
    }
}
