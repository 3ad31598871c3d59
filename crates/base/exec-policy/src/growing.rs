//! A list that only grows.

use std::sync::OnceLock;

/// A list that only grows: what it holds can be borrowed for as long as the list lives; of a static
/// one, for as long as the process runs.
#[derive(Debug, Default)]
pub struct GrowingList<T>(OnceLock<Box<(T, GrowingList<T>)>>);

impl<T> GrowingList<T> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The first value that meets a condition.
    pub fn find(&self, condition: impl Fn(&T) -> bool) -> Option<&T> {
        let mut list = self;
        while let Some(held) = list.0.get() {
            let (value, rest) = &**held;
            if condition(value) {
                return Some(value);
            }
            list = rest;
        }
        None
    }

    /// The first value that meets a condition; adds `value` if none does.
    pub fn find_or_add(&self, condition: impl Fn(&T) -> bool, value: T) -> &T {
        let (mut list, mut new) = (self, Box::new((value, Self::new())));
        loop {
            let added = list.0.set(new);
            let (held, rest) = &**list.0.get().expect("it is set");
            match added {
                Err(back) if !condition(held) => (list, new) = (rest, back),
                _ => return held,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_not_added() {
        static LIST: GrowingList<&str> = GrowingList::new();
        assert_eq!(LIST.find(|_| true), None);
        for text in ["one", "two", "one"] {
            assert_eq!(*LIST.find_or_add(|known| *known == text, text), text);
        }
        assert_eq!(LIST.find(|known| known.starts_with('t')), Some(&"two"));
        let (_, rest) = &**LIST.0.get().expect("the first");
        let (_, rest) = &**rest.0.get().expect("the second");
        assert!(rest.0.get().is_none());
    }
}
