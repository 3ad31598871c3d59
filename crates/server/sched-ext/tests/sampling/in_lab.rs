//! The same in the kernel lab.

use std::env;

use fairways_kernel_lab::{Guest, Kernel, required};

use crate::common::{EMULATED, alone};

/// This program's tests, without this one, on a newer kernel with four CPUs.
#[test]
fn the_same_in_the_kernel_lab() {
    let test = "the_same_in_the_kernel_lab";
    let _alone = alone();
    let Some(lab) = required(test, Kernel::Sid) else { return };
    let guest = Guest::new()
        .file(env::current_exe().unwrap(), "/usr/bin/tests")
        .job(format!(
            "FAIRWAYS_REQUIRE_SYSTEM=1 {EMULATED}=1 /usr/bin/tests --test-threads=1 --skip {test}"
        ))
        .seconds(600);
    let outcome = guest.run(&lab).unwrap();
    let console = outcome.console.join("\n");
    assert_eq!(outcome.code, 0, "{console}");
    assert!(!console.contains("SKIPPED") && console.contains("8 passed"), "{console}");
}
