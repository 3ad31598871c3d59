//! The orders for a thread's turns from the policies of its domains.

use std::time::Duration;

/// Orders whose outcome is not known yet, in the order in which they were made. A scheduler follows
/// the last one, whichever domain made it; it replaces those whose turn has not begun.
#[derive(Debug, Default)]
pub(super) struct Orders(Vec<(u32, Duration)>);

impl Orders {
    /// Adds a domain's order for the next turn. The turn of its first pending order may have begun;
    /// its other ones are replaced by this order and need no report.
    pub(super) fn push(&mut self, domain: u32, time: Duration) {
        let mut own = 0;
        self.0.retain(|(of, _)| {
            own += u32::from(*of == domain);
            *of != domain || own == 1
        });
        self.0.push((domain, time));
    }

    /// The order that the scheduler follows.
    pub(super) fn last(&self) -> Option<Duration> {
        self.0.last().map(|(_, time)| *time)
    }

    /// The domain that made the last order.
    pub(super) fn whose(&self) -> Option<u32> {
        self.0.last().map(|(domain, _)| *domain)
    }

    /// Handles the end of a turn whose ordered length was `ordered`. Returns the domains to notify,
    /// each with the length that it had ordered: the domain that made the order, and those whose
    /// orders it replaced, as they wait for such a turn, too. Empty if no domain ordered it.
    pub(super) fn given(&mut self, ordered: Duration) -> Vec<(u32, Duration)> {
        let Some(place) = self.0.iter().position(|(_, time)| *time == ordered) else {
            return Vec::new();
        };
        let mut reports: Vec<(u32, Duration)> = Vec::new();
        for (domain, time) in self.0.drain(..=place) {
            reports.retain(|(other, _)| *other != domain);
            reports.push((domain, time));
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn a_turn_belongs_to_the_domain_that_ordered_it() {
        let mut orders = Orders::default();
        assert_eq!((orders.given(ms(10)), orders.last()), (vec![], None));
        orders.push(0, ms(12));
        assert_eq!(orders.given(ms(10)), []);
        // The first is under way, and this one of the next turn.
        orders.push(1, ms(8));
        assert_eq!(orders.last(), Some(ms(8)));
        assert_eq!(orders.given(ms(12)), [(0, ms(12))]);
        assert_eq!(orders.given(ms(8)), [(1, ms(8))]);
        // The first order was replaced before its turn.
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
