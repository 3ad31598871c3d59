//! Masks for so many ways each, side by side.
//!
//! A way that changes hands is one whose lines are lost to who had it; and one that lies free keeps the
//! lines of who had it, who is still served from there. So masks move as little as possible, what is
//! free lies between those that may grow, and who has the least there is makes way for the others.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{AppId, WayMask};

/// Who has a span of ways: a program, by its id, or everybody who has none of his own.
pub(crate) type Occupant = Option<AppId>;

/// What somebody is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedSpan {
    pub(crate) occupant: Occupant,
    pub(crate) ways: u32,
    /// Whether it can be moved about at no cost.
    pub(crate) is_light: bool,
}

/// Spans of ways side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout(Vec<Span>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    owner: Occupant,
    from: u32,
    ways: u32,
}

impl Layout {
    /// Lays spans of these widths, which fit `ways` ways together.
    pub(crate) fn arrange(&mut self, ways: u32, wanted: &[WantedSpan]) {
        let old = |owner| self.0.iter().find(|span| span.owner == owner).copied();
        let heavy = wanted.iter().filter(|one| !one.is_light);
        let place = |one: &WantedSpan| SpanToLay {
            owner: one.occupant,
            ways: one.ways,
            old: old(one.occupant),
        };
        let (mut order, new): (Vec<SpanToLay>, Vec<SpanToLay>) =
            heavy.map(place).partition(|place| place.old.is_some());
        order.sort_by_key(|place| place.old.map(|span| span.from));
        for place in new {
            // Wherever the others stay best, and leave it room.
            let at = |index: usize| {
                let mut order = order.clone();
                order.insert(index, place);
                lay(&order, ways).map(|(score, _)| score)
            };
            let best = (0..=order.len()).max_by_key(|&index| (at(index), Reverse(index)));
            order.insert(best.unwrap_or(order.len()), place);
        }
        let light: Vec<Span> = wanted
            .iter()
            .filter(|one| one.is_light)
            .map(|one| Span {
                from: old(one.occupant).map_or(ways, |span| span.from),
                owner: one.occupant,
                ways: one.ways,
            })
            .collect();
        let scattered = spans(&order, ways).and_then(|spans| scatter(spans, ways, &light));
        self.0 = scattered.unwrap_or_else(|| {
            // Too wide for the gaps: all of them at the top.
            let room: u32 = ways - light.iter().map(|span| span.ways).sum::<u32>().min(ways);
            let mut all = spans(&order, room).unwrap_or_default();
            let mut from = room;
            for span in light {
                all.push(Span { from, ..span });
                from += span.ways;
            }
            all
        });
    }

    /// The mask of somebody whose span was laid.
    pub(crate) fn mask(&self, owner: Occupant) -> WayMask {
        let span = self.0.iter().find(|span| span.owner == owner);
        span.map_or_else(WayMask::default, |span| WayMask::span(span.from, span.ways))
    }
}

/// Spans in this order, laid in `ways` ways at best.
fn spans(order: &[SpanToLay], ways: u32) -> Option<Vec<Span>> {
    let (_, starts) = lay(order, ways)?;
    let span =
        |(place, from): (&SpanToLay, u32)| Span { owner: place.owner, from, ways: place.ways };
    Some(order.iter().zip(starts).map(span).collect())
}

/// Adds spans where there is room: where they were, or else as far from the others as there is.
/// `None` if there is not.
fn scatter(heavy: Vec<Span>, ways: u32, light: &[Span]) -> Option<Vec<Span>> {
    let mut laid = heavy.clone();
    let mask = |span: &Span| WayMask::span(span.from, span.ways);
    let free = |laid: &[Span], span: &Span| {
        span.from + span.ways <= ways && !laid.iter().any(|other| mask(other).overlaps(mask(span)))
    };
    let (stay, go): (Vec<Span>, Vec<Span>) = light.iter().partition(|span| free(&laid, span));
    laid.extend(stay);
    let apart = |span: &Span, from: u32| {
        let gap = |other: &Span| {
            let (end, other_end) = (from + span.ways, other.from + other.ways);
            other.from.saturating_sub(end).max(from.saturating_sub(other_end))
        };
        heavy.iter().map(gap).min().unwrap_or(0)
    };
    for span in go {
        let places = (0..ways).filter(|&from| free(&laid, &Span { from, ..span }));
        let from = places.max_by_key(|&from| (apart(&span, from), from))?;
        laid.push(Span { from, ..span });
    }
    Some(laid)
}

/// A span to be laid, and where it was.
#[derive(Clone, Copy, Debug)]
struct SpanToLay {
    owner: Occupant,
    ways: u32,
    old: Option<Span>,
}

impl SpanToLay {
    /// How many of its ways stay if it begins at `from`.
    fn stays(&self, from: u32) -> u32 {
        let Some(old) = self.old else { return 0 };
        let end = (from + self.ways).min(old.from + old.ways);
        end.saturating_sub(from.max(old.from))
    }
}

/// How good an arrangement is: the ways that stay; then how even the gaps are, by the sum of their
/// squares.
type Score = (u32, Reverse<u32>);

/// Where spans begin that lie in this order in `ways` ways, at best. `None` if they do not fit.
fn lay(order: &[SpanToLay], ways: u32) -> Option<(Score, Vec<u32>)> {
    // At [i][e]: the best of the first i spans if they end at e.
    let stride = ways as usize + 1;
    let mut best: Vec<Option<Score>> = vec![None; stride * (order.len() + 1)];
    best[0] = Some((0, Reverse(0)));
    for (index, place) in order.iter().enumerate() {
        let (done, next) = best.split_at_mut((index + 1) * stride);
        let before = &done[index * stride..];
        for from in 0..=ways.checked_sub(place.ways)? {
            let here = (0..=from).filter_map(|end| {
                let (stay, Reverse(gaps)) = before[end as usize]?;
                let gap = from - end;
                Some((stay + place.stays(from), Reverse(gaps + gap * gap)))
            });
            next[(from + place.ways) as usize] = here.max();
        }
    }
    let last = &best[order.len() * stride..];
    let whole = (0..).zip(last).filter_map(|(end, &slot)| {
        let (stay, Reverse(gaps)) = slot?;
        let gap: u32 = ways - end;
        Some(((stay, Reverse(gaps + gap * gap)), end))
    });
    let (score, end) = whole.max_by_key(|&(score, end)| (score, Reverse(end)))?;
    // Back from the last: each ends where what follows it scores as it does.
    let mut starts = vec![0; order.len()];
    let (mut end, mut rest) = (end, score);
    let gap = ways - end;
    rest.1 = Reverse(rest.1.0 - gap * gap);
    for (index, place) in order.iter().enumerate().rev() {
        let from = end - place.ways;
        starts[index] = from;
        let before = &best[index * stride..][..stride];
        let fits = |&end: &u32| {
            before[end as usize].is_some_and(|(stay, Reverse(gaps))| {
                let gap = from - end;
                (stay + place.stays(from), Reverse(gaps + gap * gap)) == rest
            })
        };
        end = (0..=from).find(fits)?;
        rest = before[end as usize]?;
    }
    Some((score, starts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those from 10 on are light.
    fn arrange(layout: &mut Layout, ways: u32, wanted: &[(u32, u32)]) -> Vec<(u32, u32, u32)> {
        let wanted: Vec<WantedSpan> = wanted
            .iter()
            .map(|&(app, ways)| WantedSpan {
                occupant: Some(AppId(app % 10)),
                ways,
                is_light: app >= 10,
            })
            .collect();
        layout.arrange(ways, &wanted);
        let spans = layout.0.iter().map(|span| (span.owner.unwrap().0, span.from, span.ways));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        spans
    }

    #[test]
    fn what_may_grow_has_room_and_what_is_light_makes_way() {
        let mut layout = Layout::default();
        let mut lay = |wanted: &[(u32, u32)]| arrange(&mut layout, 12, wanted);
        let all_light = lay(&[(10, 1), (11, 1), (12, 1)]);
        assert_eq!(all_light, [(0, 11, 1), (1, 10, 1), (2, 9, 1)]);
        // What it holds is in what it gets.
        assert_eq!(lay(&[(0, 3), (11, 1), (12, 1)]), [(0, 9, 3), (1, 0, 1), (2, 1, 1)]);
        assert_eq!(lay(&[(0, 3), (1, 3), (12, 1)]), [(0, 9, 3), (1, 0, 3), (2, 6, 1)]);
        assert_eq!(lay(&[(0, 1), (1, 3), (2, 3)]), [(0, 9, 1), (1, 0, 3), (2, 4, 3)]);
        assert_eq!(lay(&[(0, 3), (1, 5), (12, 1)]), [(0, 7, 3), (1, 0, 5), (2, 11, 1)]);
    }

    #[test]
    fn what_is_wide_and_light_finds_room_too() {
        let mut layout = Layout::default();
        // In the second, gaps of one way on either side would not do.
        let mut disjoint = |ways, wanted: &[(u32, u32)]| {
            let laid = arrange(&mut layout, ways, wanted);
            let mut taken = 0;
            for &(app, from, width) in &laid {
                let mask = WayMask::span(from, width).bits();
                assert!(taken & mask == 0 && from + width <= ways, "{app}: {laid:?}");
                taken |= mask;
            }
            assert_eq!(laid.len(), wanted.len());
        };
        disjoint(7, &[(0, 3), (11, 2), (12, 2)]);
        disjoint(6, &[(0, 2), (11, 2), (12, 2)]);
        disjoint(7, &[(0, 3), (11, 4)]);
    }

    /// By every way of laying spans in their order.
    #[test]
    fn no_other_arrangement_moves_fewer_ways() {
        let widths = [[2, 3, 1], [1, 5, 1], [3, 1, 3], [4, 2, 2], [1, 1, 6], [2, 2, 2]];
        for before in widths {
            for after in widths {
                let mut layout = Layout::default();
                let named = |widths: [u32; 3]| [(0, widths[0]), (1, widths[1]), (2, widths[2])];
                let mut old = arrange(&mut layout, 8, &named(before));
                let mut new = arrange(&mut layout, 8, &named(after));
                old.sort_by_key(|span| span.1);
                new.sort_by_key(|span| span.1);
                let after = [0, 1, 2].map(|place| new[place].2);
                let stays = |starts: [u32; 3]| -> u32 {
                    let stay = |place: usize| {
                        let end = (starts[place] + after[place]).min(old[place].1 + old[place].2);
                        end.saturating_sub(starts[place].max(old[place].1))
                    };
                    (0..3).map(stay).sum()
                };
                let mut best = 0;
                for a in 0..8 {
                    for b in a + after[0]..8 {
                        for c in b + after[1]..=8u32.saturating_sub(after[2]) {
                            best = best.max(stays([a, b, c]));
                        }
                    }
                }
                assert_eq!(stays([new[0].1, new[1].1, new[2].1]), best, "{before:?} {after:?}");
            }
        }
    }
}
