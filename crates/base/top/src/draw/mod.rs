//! A screen, from the top: what is watched, its cache, its programs, the last decision, and the
//! keys.

mod bar;
mod columns;
mod foot;
mod head;
mod numbers;
mod page;
mod table;
mod text;
mod why;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::LEAST;
use super::colours::Colours;
use super::source::Scene;
use super::view::View;

/// Screens of this height have room for blank lines, and for more of the last decision.
const ROOMY: u16 = 20;
const TALL: u16 = 32;

/// The area to draw in, with (0, 0) at its top left.
struct Screen<'a> {
    area: Rect,
    buffer: &'a mut Buffer,
    colours: Colours,
}

impl Screen<'_> {
    /// Writes a text, cut off at the edge, and returns the column after it.
    fn put(&mut self, x: u16, y: u16, text: &str, style: Style) -> u16 {
        let Some(room) = self.area.width.checked_sub(x).filter(|_| y < self.area.height) else {
            return x;
        };
        let (left, top) = (self.area.x, self.area.y);
        let (end, _) = self.buffer.set_stringn(left + x, top + y, text, room.into(), style);
        end - left
    }

    /// Writes a text so that it ends there.
    fn put_right(&mut self, end: u16, y: u16, text: &str, style: Style) {
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        self.put(end.saturating_sub(length), y, text, style);
    }
}

/// Draws the whole screen.
pub(super) fn screen(
    scene: &Scene,
    view: &mut View,
    colours: Colours,
    area: Rect,
    buffer: &mut Buffer,
) {
    view.follow_selection(scene);
    let mut screen = Screen { area, buffer, colours };
    let (width, height) = (area.width, area.height);
    if width < LEAST.0 || height < LEAST.1 {
        let text = format!("{width}x{height}: at least {}x{}; q quits", LEAST.0, LEAST.1);
        screen.put(0, 0, &text, Style::new());
        return;
    }
    let mut y = head::draw(scene, view, &mut screen);
    let foot = height - 1;
    foot::draw(view, foot, &mut screen);
    if height >= ROOMY {
        y += 1;
    }
    if let Some(page) = view.page.clone() {
        page::draw(&page, scene, view, y..foot, &mut screen);
        return;
    }
    let reasons = match height {
        TALL.. => 9,
        ROOMY.. => 4,
        _ => 2,
    };
    // Programs come first where not both fit.
    let why = Some(foot - reasons - 1).filter(|why| *why >= y + 3).unwrap_or(foot);
    let rest = table::draw(scene, view, y..why, &mut screen);
    if why < foot {
        why::draw(scene, view, &rest, why..foot, &mut screen);
    }
}
