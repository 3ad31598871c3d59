use alloc::borrow::ToOwned;

use proptest::prelude::*;

use super::*;

fn list(text: &str) -> Result<String, CpuError> {
    CpuSet::parse_list(text, 8).map(|set| set.to_list())
}

#[test]
fn lists_as_the_kernel_reads_them() {
    for (text, set) in [
        ("", ""),
        ("\n", ""),
        ("0", "0"),
        ("0-3", "0-3"),
        (" 1 , 3,,5\n", "1,3,5"),
        ("1 3", "1,3"),
        ("0-7:1/2", "0,2,4,6"),
        ("0-7:2/4", "0-1,4-5"),
        ("all", "0-7"),
        ("ALL:1/4", "0,4"),
        ("N", "7"),
        ("5-N", "5-7"),
        ("0-3:4/4,N", "0-3,7"),
        ("0-3:0/1", ""),
        ("2\n99", "2"),
        ("\n2,\n3 \n5\n99", "2-3,5"),
        ("0-3:1/2\n5\nx", "0,2,5"),
        ("2\0x", "2"),
    ] {
        assert_eq!(list(text), Ok(set.to_owned()), "{text:?}");
    }
    for text in [
        "x",
        "-1",
        "1-",
        "3-1",
        "0-3:",
        "0-3:1",
        "0-3:1/0",
        "0-3:2/1",
        "1:1/1",
        "0x1",
        "1;2",
        "\nx",
        "0-3:1/2\nx",
    ] {
        assert_eq!(list(text), Err(CpuError::Malformed), "{text:?}");
    }
    assert_eq!(list("8"), Err(CpuError::OutOfRange));
    assert_eq!(list("0-99"), Err(CpuError::OutOfRange));
    assert_eq!(list("4294967296"), Err(CpuError::TooLarge));
}

fn mask(text: &str) -> Result<String, CpuError> {
    CpuSet::parse_mask(text, 40).map(|set| set.to_list())
}

#[test]
fn masks_as_the_kernel_reads_them() {
    for (text, set) in [
        ("", ""),
        ("0", ""),
        ("f\n", "0-3"),
        ("F", "0-3"),
        ("00000005", "0,2"),
        ("1,0", "32"),
        ("80,00000001", "0,39"),
        (" 3 ", "0-1"),
    ] {
        assert_eq!(mask(text), Ok(set.to_owned()), "{text:?}");
    }
    assert_eq!(mask("x"), Err(CpuError::Malformed));
    assert_eq!(mask("0x1"), Err(CpuError::Malformed));
    assert_eq!(mask("123456789"), Err(CpuError::TooLarge));
    assert_eq!(mask("100,0"), Err(CpuError::TooLarge), "CPU 40");
    assert_eq!(mask("1,0,0"), Err(CpuError::TooLarge), "a third group");
}

#[test]
fn masks_are_as_wide_as_the_machine() {
    let set: CpuSet = [0, 2, 3].into_iter().collect();
    assert_eq!(set.to_mask(4), "d");
    assert_eq!(set.to_mask(12), "00d");
    assert_eq!(set.to_mask(40), "00,0000000d");
    assert_eq!(CpuSet::new().to_mask(4), "0");
    assert_eq!(CpuSet::new().to_list(), "");
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(cpus in proptest::collection::btree_set(0_u32..200, 0..50)) {
        let set: CpuSet = cpus.iter().copied().collect();
        prop_assert_eq!(set.len(), cpus.len());
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), cpus.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(CpuSet::parse_list(&set.to_list(), 200), Ok(set.clone()));
        prop_assert_eq!(CpuSet::parse_mask(&set.to_mask(200), 200), Ok(set));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}", digits in "[0-9a-fN,:/ -]{0,20}", cpus in 0_u32..100) {
        for text in [text, digits] {
            for set in [CpuSet::parse_list(&text, cpus), CpuSet::parse_mask(&text, cpus)].into_iter().flatten() {
                prop_assert!(set.iter().all(|cpu| cpu < cpus), "{:?} of {}", set, cpus);
            }
        }
    }
}
