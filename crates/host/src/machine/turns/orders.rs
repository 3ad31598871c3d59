//! What domains' policies ordered of a thread's turns.

use std::time::Duration;

/// Orders of which it is not known yet what became of them, in the order in which they were given. A scheduler goes by the last one: whichever
/// domain gave it, it replaces those that have not come to their turn.
#[derive(Debug, Default)]
pub(super) struct Orders(Vec<(u32, Duration)>);

impl Orders {
    /// A domain orders the next turn. Of its own orders before, the first may be under way; any other is replaced by this one, and nobody need be
    /// told.
    pub(super) fn push(&mut self, domain: u32, time: Duration) {
        let mut own = 0;
        self.0.retain(|(of, _)| {
            own += u32::from(*of == domain);
            *of != domain || own == 1
        });
        self.0.push((domain, time));
    }

    /// What the scheduler goes by.
    pub(super) fn last(&self) -> Option<Duration> {
        self.0.last().map(|(_, time)| *time)
    }

    /// Who gave it.
    pub(super) fn whose(&self) -> Option<u32> {
        self.0.last().map(|(domain, _)| *domain)
    }

    /// A turn is over that was to be so long. The answer is to which domains that is to be told, and how long each had ordered it to be: to the
    /// one whose order it was, and to those whose orders were replaced by it, for they wait for such a turn, too. None, where nobody ordered
    /// it so.
    pub(super) fn given(&mut self, ordered: Duration) -> Vec<(u32, Duration)> {
        let Some(place) = self.0.iter().position(|(_, time)| *time == ordered) else {
            return Vec::new();
        };
        let mut told: Vec<(u32, Duration)> = Vec::new();
        for (domain, time) in self.0.drain(..=place) {
            told.retain(|(other, _)| *other != domain);
            told.push((domain, time));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn a_turn_is_of_whoever_ordered_it() {
        let mut orders = Orders::default();
        assert_eq!((orders.given(ms(10)), orders.last()), (vec![], None));
        orders.push(0, ms(12));
        assert_eq!(orders.given(ms(10)), []);
        // The first is under way, and this one of the next turn.
        orders.push(1, ms(8));
        assert_eq!(orders.last(), Some(ms(8)));
        assert_eq!(orders.given(ms(12)), [(0, ms(12))]);
        assert_eq!(orders.given(ms(8)), [(1, ms(8))]);
        // The first was not given before the second replaced it.
        orders.push(0, ms(12));
        orders.push(1, ms(8));
        assert_eq!(orders.given(ms(8)), [(0, ms(12)), (1, ms(8))]);
        assert_eq!(orders.last(), None);
    }

    #[test]
    fn a_domain_replaces_its_own_orders() {
        let mut orders = Orders::default();
        for time in [12, 9, 7, 8] {
            orders.push(0, ms(time));
        }
        orders.push(1, ms(11));
        assert_eq!(orders.0, [(0, ms(12)), (0, ms(8)), (1, ms(11))]);
        assert_eq!(orders.given(ms(12)), [(0, ms(12))]);
        assert_eq!(orders.given(ms(11)), [(0, ms(8)), (1, ms(11))]);
    }
}
