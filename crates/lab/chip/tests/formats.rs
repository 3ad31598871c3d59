//! Every format, in every packing, whole, cut off and altered. Files are written here, as their
//! formats are described.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use fairways_chip::traces::{TraceError, TraceFormat, TraceItem, TraceOptions, TraceReader};
use proptest::prelude::*;

/// A load, then an instruction that changes a word in place, and one without memory.
const PROGRAM: [TraceItem; 6] = [
    TraceItem::Instructions(1),
    TraceItem::Load { address: 0x7fff_0000_1040, bytes: 8 },
    TraceItem::Instructions(1),
    TraceItem::Load { address: 0x5555_0000_2000, bytes: 4 },
    TraceItem::Store { address: 0x5555_0000_2000, bytes: 4 },
    TraceItem::Instructions(1),
];

fn champsim() -> Vec<u8> {
    fn record(read: u64, written: u64) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&0x401000_u64.to_le_bytes());
        bytes[16..24].copy_from_slice(&written.to_le_bytes());
        bytes[32..40].copy_from_slice(&read.to_le_bytes());
        bytes
    }
    let place = 0x5555_0000_2000;
    [record(0x7fff_0000_1040, 0), record(place, place), record(0, 0)].concat()
}

const LACKEY: &[u8] = b"==7== Lackey, an example Valgrind tool\nI  00401000,3\n L 7fff00001040,8\n\
    SB 401003\nI  00401003,2\n M 555500002000,4\nI  00401005,1\n==7== Exit code: 0\n";

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

fn message(fields: &[(u64, u64)]) -> Vec<u8> {
    let body: Vec<u8> = fields
        .iter()
        .flat_map(|&(field, value)| [varint(field << 3), varint(value)].concat())
        .collect();
    [varint(body.len() as u64), body].concat()
}

fn gem5() -> Vec<u8> {
    let header = b"\x0a\x03mon\x18\x80\xa0\x94\xa5\x8d\x1d";
    let place = 0x5555_0000_2000;
    [
        b"gem5".to_vec(),
        [varint(header.len() as u64), header.to_vec()].concat(),
        // A fetch, which is not counted; with a program counter, which is not used.
        message(&[(1, 5), (2, 1), (3, 0x401000), (4, 64), (5, 0x100), (7, 0x401000)]),
        message(&[(1, 9), (2, 1), (3, 0x7fff_0000_1040), (4, 8)]),
        message(&[(1, 10), (2, 1), (3, place), (4, 4), (5, 0)]),
        message(&[(1, 11), (2, 4), (3, place), (4, 4), (5, 0)]),
    ]
    .concat()
}

/// Header, file type, two instructions with their bytes, a thread's exit and the footer.
fn drmemtrace(file_type: u64) -> Vec<u8> {
    let records: [(u16, u16, u64); 12] = [
        (25, 0, 6),
        (28, 9, file_type),
        (22, 8, 7),
        (47, 3, 0x0c_8b48),
        (10, 3, 0x401000),
        (0, 8, 0x7fff_0000_1040),
        (49, 2, 0x401003),
        (0, 4, 0x5555_0000_2000),
        (1, 4, 0x5555_0000_2000),
        (16, 1, 0x401005),
        (23, 0, 7),
        (26, 0, 0),
    ];
    let bytes = records.iter().flat_map(|(kind, size, value)| {
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
    });
    bytes.collect()
}

const PLAIN_64_BIT: u64 = 0x40 | 0x200;

fn packed(bytes: &[u8]) -> [Vec<u8>; 5] {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(bytes).unwrap();
    let [stored, deflated] = [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated]
        .map(|by| zipped(bytes, by));
    [bytes.to_vec(), gz.finish().unwrap(), xz.finish().unwrap(), stored, deflated]
}

/// In chunks, as drmemtrace does it.
fn zipped(bytes: &[u8], by: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(by);
    for (number, chunk) in bytes.chunks(bytes.len() / 2).enumerate() {
        zip.start_file(format!("chunk.{number:04}"), options).unwrap();
        zip.write_all(chunk).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn read(bytes: &[u8], options: &TraceOptions) -> Result<(TraceFormat, Vec<TraceItem>), TraceError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut reader = TraceReader::open(file.path(), options)?;
    let mut items = Vec::new();
    while reader.read(&mut items)? {}
    Ok((reader.format(), items))
}

fn options(format: TraceFormat) -> TraceOptions {
    let instructions_per_access = (format == TraceFormat::Gem5).then_some(1.5);
    TraceOptions { instructions_per_access, ..TraceOptions::default() }
}

fn files() -> [(TraceFormat, Vec<u8>); 4] {
    [
        (TraceFormat::Champsim, champsim()),
        (TraceFormat::Lackey, LACKEY.to_vec()),
        (TraceFormat::Gem5, gem5()),
        (TraceFormat::Drmemtrace, drmemtrace(PLAIN_64_BIT)),
    ]
}

fn accesses(items: &[TraceItem]) -> Vec<TraceItem> {
    items.iter().filter(|item| item.is_access()).copied().collect()
}

fn without_sizes(items: &[TraceItem]) -> Vec<TraceItem> {
    let bytes = 1;
    let items = items.iter().map(|item| match *item {
        TraceItem::Instructions(count) => TraceItem::Instructions(count),
        TraceItem::Load { address, .. } => TraceItem::Load { address, bytes },
        TraceItem::Store { address, .. } => TraceItem::Store { address, bytes },
    });
    items.collect()
}

#[test]
fn every_format_is_recognised_and_read_in_every_packing() {
    for (format, bytes) in files() {
        for (number, packed) in packed(&bytes).iter().enumerate() {
            let (found, items) = read(packed, &options(format)).unwrap();
            assert_eq!(found, format, "packing {number}");
            match format {
                TraceFormat::Champsim => assert_eq!(items, without_sizes(&PROGRAM), "{number}"),
                TraceFormat::Gem5 => {
                    assert_eq!(accesses(&items), accesses(&PROGRAM), "{number}");
                    // 1.5 for each access, in whole ones.
                    let counts = items.iter().filter_map(|item| match item {
                        TraceItem::Instructions(count) => Some(*count),
                        _ => None,
                    });
                    assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 1], "{number}");
                }
                _ => assert_eq!(items, PROGRAM, "{format}, {number}"),
            }
        }
    }
}

/// Cut off anywhere, a file is refused in a line; or it is shorter by whole records where its
/// format does not mark the end.
#[test]
fn a_trace_that_was_cut_off_is_refused_in_a_line() {
    for (format, bytes) in files() {
        let (_, whole) = read(&bytes, &options(format)).unwrap();
        for (number, packed) in packed(&bytes).iter().enumerate() {
            for end in 0..packed.len() {
                match read(&packed[..end], &options(format)) {
                    Ok((_, items)) => {
                        let may_end = number == 0 && format != TraceFormat::Drmemtrace;
                        assert!(may_end && whole.starts_with(&items), "{format}, {number}, {end}");
                    }
                    Err(why) => assert_eq!(why.to_string().lines().count(), 1, "{why}"),
                }
            }
        }
    }
}

#[test]
fn what_is_no_trace_or_lacks_something_is_refused_with_what_was_expected() {
    fn said(bytes: &[u8], options: &TraceOptions) -> String {
        let why = read(bytes, options).unwrap_err().to_string();
        why.split_once(": ").unwrap().1.to_owned()
    }
    fn forced(format: TraceFormat) -> TraceOptions {
        TraceOptions { format: Some(format), ..options(format) }
    }
    let none = TraceOptions::default();
    let others: Vec<u8> =
        [&gem5()[..], &message(&[(1, 1), (2, 9), (3, 0), (4, 64)]).repeat(9)].concat();
    let mut text = LACKEY.to_vec();
    text.extend(b"hello, world\n");
    let mut of_version_0 = drmemtrace(PLAIN_64_BIT);
    of_version_0[4] = 0;
    let ended = [champsim(), vec![0; 1 << 20]].concat();
    for (bytes, options, expected) in [
        (&b""[..], none, "expected a trace, found an empty file"),
        (&[7; 640], none, "expected a trace of ChampSim, valgrind's lackey, gem5 or DynamoRIO's"),
        (&[7; 640], forced(TraceFormat::Champsim), "record 0 is not in ChampSim's format"),
        (&[0; 128], none, "2 records before record 2 have the instruction pointer 0"),
        (&[0; 1 << 20], none, "1025 records before record 1025 have the instruction pointer 0"),
        (&ended, none, "1025 records before record 1028 have the instruction pointer 0"),
        (b"I  04000000,3\n", none, "accesses memory, found 1 instructions that do not"),
        (&[0; 100], none, "cut off: expected records of 64 bytes, found one of 36 after 1"),
        (&champsim(), forced(TraceFormat::Gem5), "expected gem5 as the first four bytes"),
        (&champsim(), forced(TraceFormat::Drmemtrace), "expected drmemtrace's header, found"),
        (&champsim(), forced(TraceFormat::Lackey), "cut off: line 1 has no end"),
        (&text, none, "line 9: expected \"I  ADDRESS,SIZE\""),
        (
            &gem5(),
            none,
            "a trace of gem5 does not say how many instructions ran: expected \
                         instructions_per_access=X, such as 3",
        ),
        (&others, options(TraceFormat::Gem5), "9 of 13 packets are neither ReadReq nor WriteReq"),
        (LACKEY, options(TraceFormat::Gem5), "a trace of lackey counts its instructions"),
        (&drmemtrace(0x20), none, "found one of a 32-bit program"),
        (&of_version_0, forced(TraceFormat::Drmemtrace), "found 0x0 as its version"),
        (&drmemtrace(0x44), none, "found one of instructions only"),
        (&drmemtrace(0x140), none, "found one that a cache has filtered (-L0_filter)"),
        (b"\x04\x22\x4d\x18abc", none, "found what may be its raw ones (lz4)"),
        (b"\x28\xb5\x2f\xfdabc", none, "found zstd"),
    ] {
        let found = said(bytes, &options);
        assert!(found.contains(expected), "{found}, not {expected}");
        assert!(!found.contains('\n'), "{found}");
    }
    let why = TraceReader::open(std::path::Path::new("/nonesuch"), &none).err().unwrap();
    assert!(why.to_string().starts_with("/nonesuch: can't read it"), "{why}");
    let why = TraceReader::open(std::path::Path::new("/"), &none).err().unwrap();
    assert!(why.to_string().contains("found a folder"), "{why}");
}

#[test]
fn options_are_checked() {
    let mut options = TraceOptions::default();
    assert_eq!(options.take("format=gem5"), Ok(true));
    assert_eq!(options.take("instructions_per_access=2.5"), Ok(true));
    assert_eq!(options.take("cpi=2"), Ok(false));
    assert_eq!(options.format, Some(TraceFormat::Gem5));
    assert_eq!(options.instructions_per_access, Some(2.5));
    for text in ["format=pin", "instructions_per_access=0", "instructions_per_access=nan"] {
        let why = options.take(text).unwrap_err();
        assert!(why.starts_with("expected "), "{why}");
    }
}

proptest! {
    /// Whatever a file has, it is read or refused in a line.
    #[test]
    fn altered_traces_are_read_or_refused(
        which in 0..4usize,
        packing in 0..4usize,
        changes in prop::collection::vec((0..4096usize, any::<u8>()), 1..6),
    ) {
        let (format, bytes) = &files()[which];
        let mut packed = packed(bytes)[packing].clone();
        for (place, byte) in changes {
            let length = packed.len();
            packed[place % length] = byte;
        }
        for format in [None, Some(*format)] {
            let options = TraceOptions { format, ..options(TraceFormat::Gem5) };
            if let Err(why) = read(&packed, &options) {
                prop_assert_eq!(why.to_string().lines().count(), 1, "{}", why);
            }
        }
    }
}

#[test]
fn accesses_without_instructions_do_not_fill_memory() {
    let text = [b"I  04000000,3\n".to_vec(), b" L 1ffe000,4096\n".repeat(300_000)].concat();
    let why = read(&text, &TraceOptions::default()).unwrap_err().to_string();
    assert!(why.contains("at most 8 accesses for each instruction"), "{why}");
}

/// What never ends is refused all the same, packed or not, whatever its format is said to be.
#[test]
fn a_source_that_never_ends_is_no_trace() {
    let zeros = std::path::Path::new("/dev/zero");
    for format in [None, Some(TraceFormat::Champsim), Some(TraceFormat::Drmemtrace)] {
        let options = TraceOptions { format, ..TraceOptions::default() };
        let (mut items, mut found) = (Vec::new(), None);
        let mut reader = TraceReader::open(zeros, &options).unwrap();
        for _ in 0..1 << 20 {
            items.clear();
            match reader.read(&mut items) {
                Ok(more) => assert!(more),
                Err(why) => {
                    found = Some(why.to_string());
                    break;
                }
            }
        }
        let found = found.expect("an end");
        assert!(found.starts_with("/dev/zero: ") && found.contains("expected"), "{found}");
    }
    for packed in packed(&vec![0; 1 << 22]) {
        let why = read(&packed, &TraceOptions::default()).unwrap_err().to_string();
        assert!(why.contains("have the instruction pointer 0"), "{why}");
    }
    // Instructions, and no access.
    let mut text = b"I  04000000,3\n".repeat((1 << 24) + 2);
    text.extend(b" L 1ffe000,8\n");
    let why = read(&text, &TraceOptions::default()).unwrap_err().to_string();
    assert!(why.contains("found 16777217 instructions that do not"), "{why}");
}

/// A header of xz that asks for a dictionary of 4 GB, 3 GB and 1.5 GB.
#[test]
fn memory_that_a_header_asks_for_is_not_given() {
    for code in [40, 39, 37] {
        let [_, _, mut xz, ..] = packed(&champsim());
        let at = xz.windows(2).position(|two| two == [0x21, 1]).unwrap() + 2;
        xz[at] = code;
        let why = read(&xz, &TraceOptions::default()).unwrap_err().to_string();
        assert!(why.contains("expected xz with a dictionary of at most 1073741824"), "{why}");
    }
}

/// Archives whose directory names other sizes, more files, or none of what is there.
#[test]
fn sizes_that_an_archive_states_are_not_believed() {
    let good = zipped(&champsim(), zip::CompressionMethod::Stored);
    let directory = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let end = good.windows(4).position(|four| four == b"PK\x05\x06").unwrap();
    // Sizes of the first file, and where it begins; files, and where the directory begins.
    for (at, length) in
        [(directory + 20, 4), (directory + 42, 4), (end + 8, 4), (end + 12, 4), (end + 16, 4)]
    {
        for byte in [0x7f, 0xff] {
            let mut bad = good.clone();
            bad[at..at + length].fill(byte);
            match read(&bad, &TraceOptions::default()) {
                // The size of the directory is not used.
                Ok((_, items)) => assert_eq!(items, without_sizes(&PROGRAM), "{at}"),
                Err(why) => assert_eq!(why.to_string().lines().count(), 1, "{why}"),
            }
        }
    }
}
