//! Windows of which the counters' source tells when they end.

use std::time::Duration;

use fairways_core::{AppId, Counters, Every, Time};
use fairways_perf::EndedWindow;

use super::Host;
use crate::emulated::counters::between;

impl Host {
    /// Takes in what the source tells. Windows of which it tells no longer begin anew.
    pub(super) fn fetch(&mut self) {
        let mut ended = Vec::new();
        self.source.take_ended(&mut ended);
        for (place, of) in ended.iter().enumerate() {
            let is_same = |other: &EndedWindow| (other.app, other.domain) == (of.app, of.domain);
            let others =
                ended.iter().enumerate().filter(|&(at, other)| at != place && is_same(other));
            self.told(of, others.count() == 0);
        }
        let mut silent: Vec<(u32, AppId, Every)> = Vec::new();
        for (&id, domain) in &self.domains {
            let told = domain.windows.iter().filter(|(_, window)| window.told);
            let silenced = told.filter(|&(&app, _)| !self.source.reports_windows(app, id));
            silent.extend(silenced.map(|(&app, window)| (id, app, window.common.every)));
        }
        for (id, app, every) in silent {
            self.watch(id, app, every);
        }
    }

    /// A window has ended, the only one of its program of which the source tells now or one of several.
    ///
    /// Bytes and occupancy are read now, a little after its end; of several windows nobody knows which bytes are whose. A plan that came
    /// into force after its end is taken to straddle it, as it does the next.
    fn told(&mut self, of: &EndedWindow, alone: bool) {
        let &EndedWindow { app, domain: id, mut counters, length, ago } = of;
        let Some(domain) = self.domains.get(&id) else { return };
        let Some(window) = domain.windows.get(&app).copied().filter(|window| window.told) else {
            return;
        };
        let planned = domain.planned;
        let end = before(self.now, ago).max(window.common.since);
        let mut next = window.next(end, Counters::default());
        next.common.straddled = planned > end;
        self.add_bytes(id, app, &mut next.common.from);
        if alone {
            counters.memory_bytes = between(&window.common.from, &next.common.from).memory_bytes;
        }
        self.sampled(id, app, counters, length, next);
    }
}

/// `span` earlier; the beginning of time if that is earlier still.
fn before(time: Time, span: Duration) -> Time {
    Time::ZERO.after(time.since(Time::ZERO).saturating_sub(span))
}
