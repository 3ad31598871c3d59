//! The part of HTTP/1.1 that the metrics need: the head of a request, and one answer, after which
//! the connection is closed (RFC 9112).

use std::fmt::Write as _;

/// The most bytes of a request's head, and the most fields.
pub(super) const LONGEST: usize = 1 << 13;
const FIELDS: usize = 64;

const PLAIN_WORDS: &str = "text/plain; charset=utf-8";

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: u16,
    kind: &'static str,
    pub(super) body: String,
    /// Whether the head alone is sent.
    is_head: bool,
}

impl Answer {
    /// The answer with a page.
    pub(super) fn page(kind: &'static str, body: String) -> Self {
        Self { code: 200, kind, body, is_head: false }
    }

    /// The answer with one or several lines.
    pub(super) fn ok(lines: &str) -> Self {
        Self::page(PLAIN_WORDS, lines.to_owned())
    }

    /// The answer to a probe: a line, or the reason why the daemon is not well.
    pub(super) fn of(health: Result<String, String>) -> Self {
        match health {
            Ok(line) => Self::ok(&format!("{line}\n")),
            Err(why) => Self::error(503, &why),
        }
    }

    /// The answer with an error, in a line.
    pub(super) fn error(code: u16, why: &str) -> Self {
        Self { code, ..Self::ok(&format!("{why}\n")) }
    }

    /// The answer as it is sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Self { code, kind, body, .. } = self;
        let mut text = format!(
            "HTTP/1.1 {code} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n",
            phrase(*code),
            body.len()
        );
        if *code == 401 {
            text.push_str("WWW-Authenticate: Bearer\r\n");
        }
        if *code == 405 {
            text.push_str("Allow: GET, HEAD\r\n");
        }
        let body = if self.is_head { "" } else { body };
        // Writing to a string can't fail.
        let _ = write!(text, "\r\n{body}");
        text.into_bytes()
    }
}

fn phrase(code: u16) -> &'static str {
    match code {
        200 => "OK",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, without a query.
    pub(super) path: String,
    /// The media types that the client accepts.
    pub(super) accept: String,
    /// The token that the client sent (RFC 6750 §2.1).
    pub(super) token: Option<String>,
    is_head: bool,
}

impl Request {
    /// The answer to this request: whole, or only its head.
    pub(super) fn answer(&self, answer: Answer) -> Answer {
        Answer { is_head: self.is_head, ..answer }
    }
}

/// Parses a request from the bytes so far, or returns the answer to a wrong one; `None` if it is
/// incomplete.
pub(super) fn request(came: &[u8]) -> Option<Result<Request, Answer>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let is_over = match request.parse(came) {
        Ok(status) => status.is_complete(),
        Err(httparse::Error::TooManyHeaders) => {
            let why = format!("expected at most {FIELDS} header fields");
            return Some(Err(Answer::error(431, &why)));
        }
        Err(why) => return Some(Err(Answer::error(400, &format!("expected HTTP/1.1: {why}")))),
    };
    if !is_over {
        let is_full = came.len() >= LONGEST;
        let why = format!("expected a request's head of less than {LONGEST} bytes");
        return is_full.then(|| Err(Answer::error(431, &why)));
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Some(Err(Answer::error(405, "expected GET or HEAD"))),
    };
    let values = |name: &'static str| {
        let fields = request.headers.iter().filter(move |of| of.name.eq_ignore_ascii_case(name));
        fields.filter_map(|of| std::str::from_utf8(of.value).ok())
    };
    let accept = values("accept").collect::<Vec<_>>().join(",");
    let token = values("authorization").find_map(|value| {
        let (scheme, token) = value.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path).to_owned();
    Some(Ok(Request { path, accept, token, is_head }))
}

/// Whether a client that accepts these media types prefers the older text format (RFC 9110
/// §12.5.1). A client that states none gets OpenMetrics.
pub(super) fn wants_plain(accept: &str) -> bool {
    let preference = |kind: &str| {
        let group = kind.split_once('/').map_or("", |(group, _)| group);
        let best = accept.split(',').filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next()?.to_ascii_lowercase();
            let exact = match name.as_str() {
                "*/*" => 0,
                name if name.strip_suffix("/*") == Some(group) => 1,
                name if name == kind => 2,
                _ => return None,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            Some((exact, quality.map_or(Some(1.0), |text| text.parse::<f64>().ok())?))
        });
        best.fold((-1, 0.0), |best, next| {
            if next.0 > best.0 || next.0 == best.0 && next.1 > best.1 { next } else { best }
        })
    };
    preference("text/plain").1 > preference("application/openmetrics-text").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_format_that_it_prefers() {
        for (accept, plain) in [
            ("", false),
            ("*/*", false),
            ("text/plain", true),
            ("text/*;q=0.5, application/*;q=0.4", true),
            ("text/html, */*;q=0.1", false),
            (
                "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                false,
            ),
            ("application/openmetrics-text;q=0.2,text/plain;q=0.9", true),
            ("application/openmetrics-text;q=0,*/*", true),
            ("application/openmetrics-text; version=1.0.0; q=0.6 , TEXT/PLAIN; q=0.5", false),
        ] {
            assert_eq!(wants_plain(accept), plain, "{accept:?}");
        }
    }

    #[test]
    fn a_whole_head_is_read_and_anything_else_gets_an_error() {
        let whole = |text: &str| request(text.as_bytes());
        assert_eq!(whole("GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        let read = |text: &str| whole(text).unwrap().unwrap();
        let request = read("GET /metrics?x=1 HTTP/1.1\r\nAuthorization:  bearer a b\r\n\r\n");
        assert_eq!((&request.path[..], request.token.as_deref()), ("/metrics", Some("a b")));
        let request =
            read("GET /metrics HTTP/1.0\nAuthorization: Basic YTpi\nAccept: a\nAccept: b\n\n");
        assert_eq!((&request.accept[..], request.token), ("a,b", None));
        let code = |text: &str| whole(text).unwrap().unwrap_err().code;
        for (text, wanted) in [
            ("POST /metrics HTTP/1.1\r\n\r\n", 405),
            ("\u{1}\u{2}", 400),
            ("PRI * HTTP/2.0\r\n\r\n", 400),
        ] {
            assert_eq!(code(text), wanted, "{text:?}");
        }
        assert_eq!(code(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65))), 431);
        assert_eq!(code(&format!("GET /{}", "x".repeat(LONGEST))), 431);
        let head = read("HEAD /metrics HTTP/1.1\r\n\r\n").answer(Answer::ok("a\n")).bytes();
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Content-Length: 2\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }
}
