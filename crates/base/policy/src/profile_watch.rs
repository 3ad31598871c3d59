//! Whether programs behave as their profiles say (decisions LFOC 24, Fairways 12). A profile
//! describes one run; with another input, or in another phase, a program behaves differently.

use alloc::vec::Vec;

use fairways_core::{AppId, Profile, Q32, Sample};

/// If the occupancy changes by more than this part of a way in a window, the window is not
/// compared: the profile has no misses that fill the cache.
const MOVED: u64 = (1 << 32) / 8;

/// With less than a way, a program may miss this many times as often as with one.
const SCARCE: u64 = 8;

/// The programs that are compared with their profiles.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileWatch(Vec<HeldProfile>);

#[derive(Clone, Debug)]
struct HeldProfile {
    app: AppId,
    occupancy: Option<Q32>,
    /// Windows in a row that were unlike the profile.
    unlike: u32,
}

impl ProfileWatch {
    /// Begins to watch a program; returns whether it is new.
    pub(crate) fn begin(&mut self, app: AppId) -> bool {
        let is_new = !self.0.iter().any(|watched| watched.app == app);
        if is_new {
            self.0.push(HeldProfile { app, occupancy: None, unlike: 0 });
        }
        is_new
    }

    /// Drops the programs that are no longer to be watched.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(AppId) -> bool) {
        self.0.retain(|watched| is_kept(watched.app));
    }

    /// Handles a window of a program that may fill up to `own` ways. Returns whether at least
    /// `needed` windows in a row were unlike its profile.
    pub(crate) fn is_unlike(
        &mut self,
        profile: &Profile,
        sample: &Sample,
        own: u32,
        needed: u32,
    ) -> bool {
        let watched = self.0.iter_mut().find(|watched| watched.app == sample.app);
        let Some(watched) = watched else { return false };
        let before = core::mem::replace(&mut watched.occupancy, sample.occupancy);
        if sample.straddled {
            return false;
        }
        // Without a reading, it may occupy all of its ways, or hardly any.
        let occupied = match (before, sample.occupancy) {
            (_, None) => [sample.occupancy_at_least.unwrap_or_default(), Q32::from_int(own)],
            (Some(before), Some(now)) if before.raw().abs_diff(now.raw()) <= MOVED => {
                [before.min(now), before.max(now)]
            }
            _ => return false,
        };
        let Some(is_unlike) = is_unlike(profile, sample, occupied) else { return false };
        watched.unlike = if is_unlike { watched.unlike.saturating_add(1) } else { 0 };
        watched.unlike >= needed
    }
}

/// Whether a window at this occupancy (at least, at most) is unlike the profile; `None` if counters
/// are missing. A program that waits for memory is slower than its profile says, so only two things
/// count: its misses per instruction, and a speed above the profile's best.
fn is_unlike(profile: &Profile, sample: &Sample, occupied: [Q32; 2]) -> Option<bool> {
    let counters = &sample.counters;
    let instructions = u128::from(counters.instructions.filter(|&count| count > 0)?);
    let ways = u32::try_from(profile.ipc.values().len()).unwrap_or(u32::MAX);
    let fastest = (1..=ways).map(|ways| profile.ipc.at(ways)).max()?;
    if counters.ipc().is_some_and(|ipc| exceeds(ipc, fastest, 8, Q32::default())) {
        return Some(true);
    }
    let misses = (u128::from(counters.llc_misses?) * 1000) << 32;
    let misses = Q32::from_raw(u64::try_from(misses / instructions).unwrap_or(u64::MAX));
    let [fewer, more] = [occupied[0].raw() >> 32, (occupied[1].raw() + u64::from(u32::MAX)) >> 32];
    let [mut bound, least] =
        [fewer, more].map(|place| profile.llcmpki.at(u32::try_from(place).unwrap_or(ways)));
    if fewer == 0 {
        // With less than a way, it may miss more than the profile shows.
        let more = bound.max(Q32::ONE).raw().saturating_mul(SCARCE);
        bound = Q32::from_raw(more);
    }
    Some(exceeds(misses, bound, 4, Q32::ONE) || exceeds(least, misses, 4, Q32::ONE))
}

/// Whether `one` exceeds `other` by more than the fraction 1 / `part` of it, and by more than
/// `least`.
fn exceeds(one: Q32, other: Q32, part: u64, least: Q32) -> bool {
    let margin = (other.raw() / part).max(least.raw());
    one.raw() > other.raw().saturating_add(margin)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fairways_core::{Counters, Curve, Ways};

    use super::*;

    const APP: AppId = AppId(3);

    /// 16, 8, 4 and 2 misses in 1000 instructions, at 1 to 2 instructions per cycle.
    fn profile() -> Profile {
        let ways = Ways::new(4).unwrap();
        let none = Curve::from_fn(ways, |_| Q32::default());
        Profile {
            ipc: Curve::from_fn(ways, |ways| Q32::ratio(2 + 2 * u64::from(ways), 5)),
            llcmpki: Curve::from_fn(ways, |ways| Q32::from_int(32 >> ways)),
            llcmpkc: none,
            bandwidth_mbps: none,
            stalls_l2_miss: none,
        }
    }

    /// A million instructions in `kilocycles` thousand cycles, with `misses` misses per thousand.
    fn window(kilocycles: u64, misses: u64, quarters: Option<u64>) -> Sample {
        let counters = Counters {
            instructions: Some(1_000_000),
            cycles: Some(1000 * kilocycles),
            llc_misses: Some(1000 * misses),
            ..Counters::default()
        };
        let occupancy = quarters.map(|quarters| Q32::from_raw(quarters << 30));
        Sample { occupancy, ..Sample::new(APP, counters, Duration::from_millis(50)) }
    }

    /// Whether a program is unlike its profile by its second window.
    fn differs(sample: Sample) -> bool {
        let mut watch = ProfileWatch::default();
        assert!(watch.begin(APP) && !watch.begin(APP));
        let first = Sample { straddled: true, ..sample };
        assert!(!watch.is_unlike(&profile(), &first, 4, 1));
        watch.is_unlike(&profile(), &sample, 4, 1)
    }

    #[test]
    fn misses_count_at_what_a_program_occupies() {
        // With one way 16 misses, with two 8.
        for misses in [7, 8, 12, 16, 20] {
            assert!(!differs(window(1000, misses, Some(6))), "{misses}");
        }
        assert!(differs(window(1000, 5, Some(6))) && differs(window(1000, 21, Some(6))));
        // With less than a way it may miss more than the profile shows.
        assert!(!differs(window(1000, 150, Some(3))) && differs(window(1000, 170, Some(3))));
        assert!(differs(window(1000, 11, Some(3))));
    }

    #[test]
    fn where_occupancies_cannot_be_read_it_may_hold_all_ways_or_none() {
        assert!(!differs(window(1000, 2, None)) && !differs(window(1000, 100, None)));
        assert!(differs(window(1000, 0, None)));
        let least = Some(Q32::from_int(2));
        let known = Sample { occupancy_at_least: least, ..window(1000, 12, None) };
        assert!(differs(known));
    }

    /// Waiting for memory is like the profile; a speed above its best is not.
    #[test]
    fn only_a_speed_that_the_profile_has_nowhere_counts() {
        assert!(!differs(window(9000, 8, Some(8))) && !differs(window(460, 8, Some(8))));
        assert!(differs(window(440, 8, Some(8))));
    }

    #[test]
    fn only_windows_in_a_row_and_at_rest_count() {
        let mut watch = ProfileWatch::default();
        watch.begin(APP);
        let (like, unlike) = (window(1000, 2, Some(16)), window(1000, 30, Some(16)));
        let straddled = Sample { straddled: true, ..unlike };
        let seen = [&like, &unlike, &like, &unlike, &straddled, &unlike, &unlike];
        let said = seen.map(|sample| watch.is_unlike(&profile(), sample, 4, 3));
        assert_eq!(said, [false, false, false, false, false, false, true]);
        // While it fills the cache, it misses more than the profile says.
        let growing = (2..16).map(|quarters| window(1000, 90, Some(quarters)));
        let mut filling = ProfileWatch::default();
        filling.begin(APP);
        assert!(growing.into_iter().all(|window| !filling.is_unlike(&profile(), &window, 4, 1)));
        filling.retain(|app| app != APP);
        assert!(filling.begin(APP));
    }
}
