//! Entry points for fuzz targets, and the tests that run their corpora again (fuzz/README.md): any
//! bytes as a server's answer.

use std::io::Read as _;
use std::time::Duration;

use super::bounded::Trouble;
use super::{http, redis, resp, text};

/// Far more than the input of any fuzz target.
const MOST_BYTES: u64 = 1 << 20;

/// Parses a page: a histogram, or an error in a line that repeats nothing of it.
pub fn page(bytes: &[u8]) {
    let wanted = [("a".to_owned(), "1".to_owned())];
    for labels in [&[][..], &wanted] {
        if let Err(why) = text::histogram(bytes, "h", labels, Duration::from_secs(1)) {
            is_a_line(&why);
        }
    }
}

/// Parses an answer of HTTP: a body of at most as many bytes, or an error in a line.
pub fn answer(bytes: &[u8]) {
    match http::body(bytes, "127.0.0.1:1", "/") {
        Ok(body) => {
            let mut read = Vec::new();
            // It may end early.
            let _ = body.take(MOST_BYTES).read_to_end(&mut read);
            assert!(read.len() <= bytes.len());
        }
        Err(why) => is_a_line(&why),
    }
}

/// Parses answers of Redis, one after the other.
pub fn values(mut bytes: &[u8]) {
    while let Ok(value) = resp::read(&mut bytes) {
        let _ = redis::histogram(&value);
    }
}

fn is_a_line(why: &Trouble) {
    let text = why.to_string();
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}

#[cfg(test)]
mod tests {
    use fairways_testing::corpora::run;

    #[test]
    fn pages() {
        run("openmetrics", 50, super::page);
    }

    #[test]
    fn answers() {
        run("http", 50, super::answer);
    }

    #[test]
    fn answers_of_redis() {
        run("resp", 50, super::values);
    }
}
