//! The content of `info/last_cmd_status`.

/// The kernel's report on the last command (resctrl.rst, "last_cmd_status").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Its lines; none if there is nothing to report, for which it writes `ok`. Not every error has
    /// a line.
    pub lines: Vec<String>,
    /// Whether there was more than the kernel keeps (512 bytes), where it reports that.
    pub truncated: bool,
}

impl Status {
    /// Reads a whole file; any text is a message.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mark = "[truncated]";
        let truncated = text.trim_end().ends_with(mark);
        let text = text.trim_end().strip_suffix(mark).unwrap_or(text);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
        let lines: Vec<String> = lines.collect();
        let nothing = lines == ["ok"];
        Self { lines: if nothing { Vec::new() } else { lines }, truncated }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn ok_is_no_message() {
        assert_eq!(Status::parse("ok\n"), Status::default());
        assert_eq!(Status::parse(""), Status::default());
        let status = Status::parse("No task 99999\nError while processing task 99999\n");
        assert_eq!(status.lines, ["No task 99999", "Error while processing task 99999"]);
        assert!(!status.truncated);
        let status = Status::parse("No task 1\nError wh[truncated]\n");
        assert_eq!((status.lines.len(), status.truncated), (2, true));
    }
}
