//! Limits the number of clients that are served at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The clients that are served now.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients(Arc<AtomicUsize>);

/// A client's place; it becomes free when it is dropped, even by a panic.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Clients {
    /// Lets a client in; `None` if `most` clients are served already.
    pub(super) fn enter(&self, most: usize) -> Option<Place> {
        let place = Place(Arc::clone(&self.0));
        (self.0.fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_breaks_off_frees_its_place() {
        let clients = Clients::default();
        let first = clients.enter(2).unwrap();
        let second = clients.enter(2).unwrap();
        assert!(clients.enter(2).is_none() && clients.enter(2).is_none());
        let broken = std::thread::spawn(move || {
            let _place = second;
            panic!("a test's");
        });
        assert!(broken.join().is_err());
        let again = clients.enter(2).unwrap();
        assert!(clients.enter(2).is_none());
        drop((first, again));
        assert_eq!(clients.0.load(Ordering::Relaxed), 0);
    }
}
