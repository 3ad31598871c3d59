//! Colours, where they are wanted: all that they say is said by letters as well.

use ratatui::style::{Color, Modifier, Style};

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    pub(super) wanted: bool,
}

/// The clusters', in order, and over again.
const CLUSTERS: [Color; 6] =
    [Color::Cyan, Color::Green, Color::Yellow, Color::Magenta, Color::Blue, Color::LightRed];

impl Colours {
    fn with(self, style: Style, colour: Color) -> Style {
        if self.wanted { style.fg(colour) } else { style }
    }

    /// A cluster's.
    pub(super) fn cluster(self, cluster: Option<usize>) -> Style {
        match cluster {
            Some(cluster) => self.with(Style::new(), CLUSTERS[cluster % CLUSTERS.len()]),
            None => self.quiet(),
        }
    }

    /// What frames the rest.
    pub(super) fn quiet(self) -> Style {
        self.with(Style::new(), Color::DarkGray)
    }

    /// What is to be seen first.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// As it should be.
    pub(super) fn good(self) -> Style {
        self.with(Style::new(), Color::Green)
    }

    /// Not as it should be.
    pub(super) fn bad(self) -> Style {
        self.with(self.strong(), Color::Red)
    }

    /// The selected row.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
