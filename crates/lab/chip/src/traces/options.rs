//! What a trace does not say itself.

use super::format::TraceFormat;

/// What a trace does not say itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TraceOptions {
    /// The format; by default it is recognised.
    pub format: Option<TraceFormat>,
    /// Instructions for each load or store, from 1 to 1000: needed for a trace that does not show
    /// instructions, which is gem5's, and refused for others.
    pub instructions_per_access: Option<f64>,
}

impl TraceOptions {
    /// Takes `format=NAME` or `instructions_per_access=X`; returns whether it is one of them.
    ///
    /// # Errors
    /// If the value is not one.
    pub fn take(&mut self, option: &str) -> Result<bool, String> {
        match option.split_once('=') {
            Some(("format", name)) => self.format = Some(name.parse()?),
            Some(("instructions_per_access", text)) => {
                let number = text.parse().ok().filter(|number| (1.0..=1000.0).contains(number));
                let expected =
                    || format!("expected instructions_per_access from 1 to 1000, found {text:?}");
                self.instructions_per_access = Some(number.ok_or_else(expected)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
