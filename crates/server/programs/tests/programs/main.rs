//! Programs as they come and go, on made-up hosts and on this one.

mod announced;
mod cgroups;
mod made_up;
mod processes;
mod real;
mod real_cgroups;

use std::collections::BTreeMap;

use fairways_programs::{Change, ProgramKey, Programs, Wanted};

fn wanted(name: &str, selector: &str) -> Wanted {
    Wanted { name: name.to_owned(), selector: selector.parse().expect(selector), each: false }
}

fn each(name: &str, selector: &str) -> Wanted {
    Wanted { each: true, ..wanted(name, selector) }
}

/// The programs by name, as a caller keeps them.
#[derive(Default)]
struct There(BTreeMap<String, ProgramKey>);

impl There {
    /// Looks, and returns the changes: `+name` and `-name`.
    fn look(&mut self, programs: &mut Programs) -> Vec<String> {
        let mut changes = Vec::new();
        for change in programs.look().expect("a look") {
            match change {
                Change::Arrived { program, name, .. } => {
                    changes.push(format!("+{name}"));
                    assert!(!self.0.values().any(|&known| known == program), "a key is used again");
                    assert_eq!(self.0.insert(name, program), None, "a name is there twice");
                }
                Change::Gone { program } => {
                    let name = self.0.iter().find(|(_, known)| **known == program);
                    let name = name.expect("a known program").0.clone();
                    changes.push(format!("-{name}"));
                    self.0.remove(&name);
                }
            }
        }
        changes
    }

    fn tasks(&self, programs: &mut Programs, name: &str) -> Vec<i32> {
        let mut tasks = Vec::new();
        programs.tasks(self.0[name], &mut tasks).expect("its tasks");
        tasks
    }
}
