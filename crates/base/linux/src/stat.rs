//! A process or thread, as `/proc/PID/stat` describes it (proc_pid_stat(5)).

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// The file's fields, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'t> {
    /// Its number, field 1.
    pub pid: i32,
    /// Its name, field 2, which may contain blanks and parentheses.
    pub comm: &'t str,
    /// Field 3 and all after it.
    rest: &'t str,
}

impl<'t> Stat<'t> {
    /// Reads the file's text; `None` if it has another form. The name ends at the last parenthesis.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (pid, rest) = text.split_once(" (")?;
        let (comm, rest) = rest.rsplit_once(") ")?;
        Some(Self { pid: pid.parse().ok()?, comm, rest })
    }

    /// The field with this number, from 3 on; `None` if it is missing, or of another type.
    #[must_use]
    pub fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        self.rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
    }

    /// Its state, field 3: `R`, `S`, `Z` and so on.
    #[must_use]
    pub fn state(&self) -> Option<char> {
        self.rest.split_ascii_whitespace().next()?.chars().next()
    }

    /// The number of the parent, field 4.
    #[must_use]
    pub fn parent(&self) -> Option<i32> {
        self.field(4)
    }

    /// When it started, in clock ticks since boot, field 22; with the number, it distinguishes a
    /// process from a later one with the same number.
    #[must_use]
    pub fn started(&self) -> Option<u64> {
        self.field(22)
    }
}

/// The text of `PROC/THREAD/stat`; `None` if there is no such thread, or it can't be read. Bytes of
/// a name that are not UTF-8 are replaced.
#[must_use]
pub fn text(proc: &Path, thread: i32) -> Option<String> {
    let bytes = fs::read(proc.join(format!("{thread}/stat"))).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// When a thread started, in clock ticks since boot; `None` if there is none.
#[must_use]
pub fn started(proc: &Path, thread: i32) -> Option<u64> {
    Stat::parse(&text(proc, thread)?)?.started()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = Stat::parse("7 (a) b (c) S 3 1 1 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 9 9");
        let stat = stat.unwrap();
        assert_eq!((stat.pid, stat.comm, stat.state()), (7, "a) b (c", Some('S')));
        assert_eq!((stat.parent(), stat.started()), (Some(3), Some(4711)));
        assert_eq!((stat.field::<i32>(8), stat.field::<u32>(8)), (Some(-1), None));
        assert_eq!((stat.field::<i32>(2), stat.field::<i32>(25)), (None, None));
        assert_eq!(Stat::parse("7 a S"), None);
    }

    #[test]
    fn a_name_that_is_no_text_hides_no_process() {
        let proc = tempfile::tempdir().unwrap();
        fs::create_dir(proc.path().join("7")).unwrap();
        let line = b"7 (a\xff) S 3 1 1 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 9 9\n";
        fs::write(proc.path().join("7/stat"), line).unwrap();
        assert_eq!(started(proc.path(), 7), Some(4711));
        assert_eq!(started(proc.path(), 8), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", comm in ".{0,15}", start: u64) {
            let _ = Stat::parse(&text).map(|stat| (stat.state(), stat.started()));
            let line = format!("5 ({comm}) S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1 2");
            let stat = Stat::parse(&line).map(|stat| (stat.comm, stat.started()));
            proptest::prop_assert_eq!(stat, Some((&*comm, Some(start))));
        }
    }
}
