//! Which user runs a process.

use std::fmt;

/// A user, as an administrator writes it: by the name in `/etc/passwd`, or by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    text: String,
    id: u32,
}

impl User {
    /// The user with that name or number; `None` if `/etc/passwd` has no such name. Names that only
    /// NSS knows are not looked up, as that may use the network; their numbers work.
    pub(super) fn find(text: &str) -> Option<Self> {
        let id = if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok()?
        } else {
            named(&std::fs::read_to_string("/etc/passwd").ok()?, text)?
        };
        // The kernel takes -1 for no user (setuid(2)).
        (id != u32::MAX).then(|| Self { text: text.to_owned(), id })
    }

    /// The user's number.
    pub(super) const fn id(&self) -> u32 {
        self.id
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The number of a name in a file in the form of passwd(5).
fn named(passwd: &str, name: &str) -> Option<u32> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next() == Some(name) && !name.is_empty();
        if found { fields.nth(1)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_passwd() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\n+\nredis:x:104:107::/:/bin/false\nodd:x\n";
        assert_eq!(named(passwd, "redis"), Some(104));
        for name in ["", "red", "x", "+", "odd"] {
            assert_eq!(named(passwd, name), None, "{name}");
        }
        assert_eq!(User::find("root").map(|user| user.id()), Some(0));
        assert_eq!(User::find("+7"), None);
    }
}
