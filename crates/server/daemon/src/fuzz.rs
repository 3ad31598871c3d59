//! The functions that fuzz targets call, and tests that run the corpora again (fuzz/README.md).
//! Each function panics where a promise is broken.

use std::io::Write as _;

use fairways_record::journal::Follower;

use crate::config;

pub use self::sockets::{answer, request, scrape};

mod sockets {
    /// Any bytes at the control socket.
    pub fn request(bytes: &[u8]) {
        crate::fuzzed::request(bytes);
    }

    /// Any bytes at the metrics' port.
    pub fn scrape(bytes: &[u8]) {
        crate::fuzzed::scrape(bytes);
    }

    /// Any bytes as the daemon's answer.
    pub fn answer(bytes: &[u8]) {
        crate::fuzzed::answer(bytes);
    }
}

/// Reads any bytes as the daemon's configuration. An accepted configuration reads the same after it
/// is written again; a rejected one has a line for each mistake.
pub fn configuration(bytes: &[u8]) {
    let file = file_of(bytes);
    match config::load(Some(file.path())) {
        Ok((config, _)) => {
            let text = toml::to_string(&config).expect("it can be written");
            let again = file_of(text.as_bytes());
            let again = config::load(Some(again.path())).expect("what was written is accepted").0;
            assert_eq!(again, config);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| is_a_line(error));
        }
    }
}

/// Follows any bytes as a journal, to its end or to a mistake that is reported in one line.
pub fn journal(bytes: &[u8]) {
    let file = file_of(bytes);
    let followed = Follower::open(file.path()).and_then(|mut journal| {
        while journal.step()?.is_some() {}
        Ok(())
    });
    if let Err(why) = followed {
        is_a_line(&why.to_string());
    }
}

fn is_a_line(text: &str) {
    // Characters that are not plain are replaced where the text is shown.
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
}

fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("room for it");
    file
}

#[cfg(test)]
mod tests {
    use fairways_testing::corpora::run;

    #[test]
    fn configurations() {
        run("configuration", 100, super::configuration);
    }

    #[test]
    fn journals() {
        run("journal", 100, super::journal);
    }

    #[test]
    fn requests() {
        run("request", 20, super::request);
    }

    #[test]
    fn scrapes() {
        run("scrape", 20, super::scrape);
    }

    #[test]
    fn answers() {
        run("answer", 50, super::answer);
    }
}
