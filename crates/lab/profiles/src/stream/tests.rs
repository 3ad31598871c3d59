use super::*;

fn manifest() -> StreamManifest {
    StreamManifest {
        program: "chase".to_owned(),
        run: MeasuredRun {
            command: vec!["chase".to_owned(), "9\n".to_owned()],
            file: "/bin/chase".to_owned(),
            sha256: "00".repeat(32),
            version: None,
            qemu: "7.2".to_owned(),
            machine: "chip:skylake".to_owned(),
            skip: 5,
            instructions: 0,
            slices: 2,
            apart: 100,
            exit_code: None,
        },
        private: vec![[64, 8], [1024, 16]],
        cpi: 0.5,
        overlap: 4.0,
        overlap_estimate: 1.5,
        totals: StreamTotals::default(),
        blocks: Vec::new(),
    }
}

fn event(instructions: u32, line: u32, kind: StreamEventKind) -> StreamEvent {
    StreamEvent { instructions, line, kind }
}

/// The events of two slices: a walk, with write-backs behind it, and jumps to both ends.
fn events() -> Vec<(u32, StreamEvent)> {
    let walk = (0..300_000).map(|step| match step % 3 {
        0 => (0, event(7, step, StreamEventKind::Load)),
        1 => (0, event(0, step, StreamEventKind::Store)),
        _ => (0, event(1, step / 2, StreamEventKind::WriteBack)),
    });
    let last = [
        (0, event(9, 0, StreamEventKind::Gap)),
        (1, event(u32::MAX >> 2, MOST_STREAM_LINES - 1, StreamEventKind::Load)),
        (1, event(0, 0, StreamEventKind::Store)),
    ];
    walk.chain(last).collect()
}

fn written() -> Vec<u8> {
    let mut writer = StreamWriter::default();
    events().into_iter().for_each(|(slice, event)| writer.push(slice, event, 2, 1));
    writer.finish(manifest()).0
}

fn refused(bytes: &[u8]) -> String {
    let stream = RecordedStream::read(bytes, "s").and_then(|stream| {
        (0..stream.manifest.blocks.len()).try_for_each(|place| stream.block(place).map(drop))
    });
    stream.expect_err("a bad stream").to_string()
}

#[test]
fn a_stream_reads_back_from_any_block() {
    let stream = RecordedStream::read(&written(), "s").expect("a stream");
    let slices: Vec<u32> = stream.manifest.blocks.iter().map(|block| block.slice).collect();
    assert_eq!(slices, [0, 0, 1]);
    let (mut all, mut references) = (Vec::new(), 0);
    for place in [2, 0, 1] {
        let content = stream.block(place).expect("a block");
        references += content.references;
        assert_eq!(2 * content.l2_hits, content.references);
        all.push(content.events);
    }
    all.rotate_left(1);
    let expected: Vec<StreamEvent> = events().into_iter().map(|(_, event)| event).collect();
    assert_eq!(all.concat(), expected);
    let totals = stream.manifest.totals;
    assert_eq!((references, totals.references, totals.l2_hits), (600_006, 600_006, 300_003));
    assert_eq!((totals.loads, totals.stores, totals.write_backs), (100_001, 100_001, 100_000));
    assert_eq!(totals.instructions, 800_000 + 9 + (u64::from(u32::MAX) >> 2));
    assert_eq!(stream.manifest.run.instructions, totals.instructions);
}

#[test]
fn a_stream_that_was_cut_or_altered_is_refused_in_a_line() {
    let good = written();
    for end in (0..good.len()).step_by(211) {
        let why = refused(&good[..end]);
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    for place in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        assert_eq!(refused(&bad).lines().count(), 1, "{place}");
    }
    assert_eq!(refused(b"BENCH,NR_WAYS\n"), "s: expected a stream that fairways-lab record wrote");
    assert_eq!(
        refused(&good[..good.len() - 1]),
        "s: expected the stream as it was written, found it cut or altered"
    );
}

/// A stream with this change to its manifest, as one that an adversary wrote: the hash is right.
fn altered(good: &[u8], from: &str, to: &str) -> Vec<u8> {
    use sha2::Digest;
    let start = good.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    let end = good[start..].iter().position(|&byte| byte == b'\n').expect("a line") + start;
    let text = str::from_utf8(&good[start..end]).expect("JSON");
    let mut rest = text.replacen(from, to, 1).into_bytes();
    assert_ne!(rest, text.as_bytes(), "{from}");
    rest.extend(&good[end..]);
    let hash = crate::hexadecimal(&sha2::Sha256::digest(&rest));
    [format!("{MAGIC}{hash}\n").into_bytes(), rest].concat()
}

#[test]
fn a_manifest_that_does_not_fit_its_blocks_is_refused() {
    let good = written();
    let instructions = 800_000 + 9 + (u64::from(u32::MAX) >> 2);
    let total = format!("\"totals\":{{\"instructions\":{instructions},");
    let more = "\"slice\":1},{\"bytes\":0,\"events\":1,\"instructions\":1,\"slice\":1}]";
    for (from, to) in [
        ("\"events\":262144", "\"events\":262143"),
        ("\"events\":262144", "\"events\":4294967295"),
        ("\"events\":262144", "\"events\":0"),
        ("\"slice\":1}]", &more.replace("\"bytes\":0", "\"bytes\":1")),
        ("\"slice\":1}]", more),
        ("\"slice\":0}", "\"slice\":2}"),
        ("\"cpi\"", "\"cpu\""),
        (&total, "\"totals\":{\"instructions\":43000000000000,"),
        (&total, &format!("\"totals\":{{\"instructions\":{},", instructions - 1)),
        (&format!("\"instructions\":{instructions}"), "\"instructions\":0"),
        ("\"loads\":100001", "\"loads\":18446744073709551615"),
        ("\"references\":600006", "\"references\":18446744073709551615"),
        ("\"cpi\":0.5", "\"cpi\":-1"),
        ("\"cpi\":0.5", "\"cpi\":1e300"),
        ("\"overlap\":4.0", "\"overlap\":0.0"),
        ("[[64,8],[1024,16]]", "[]"),
        ("[[64,8],[1024,16]]", "[[64,0]]"),
        ("[[64,8],[1024,16]]", "[[64,8],[1024,16],[4,4]]"),
    ] {
        assert_eq!(refused(&altered(&good, from, to)).lines().count(), 1, "{to}");
    }
}

/// Each total, one too many and one too few, where only the blocks' content shows it.
#[test]
fn totals_that_the_blocks_do_not_have_are_refused() {
    let good = written();
    for (name, value) in [
        ("references", 600_006),
        ("l2_hits", 300_003),
        ("loads", 100_001),
        ("stores", 100_001),
        ("write_backs", 100_000),
    ] {
        for other in [value - 1, value + 1] {
            let (from, to) = (format!("\"{name}\":{value}"), format!("\"{name}\":{other}"));
            let bad = altered(&good, &from, &to);
            let Ok(stream) = RecordedStream::read(&bad, "s") else {
                // More events than there are.
                continue;
            };
            let mut found = StreamTotals::default();
            for place in 0..stream.manifest.blocks.len() {
                found.add(&stream.block(place).expect("a block"));
            }
            let why = stream.check_totals(&found).expect_err("other totals").to_string();
            assert!(why.contains(&format!("found {value}")), "{why}");
        }
    }
    let stream = RecordedStream::read(&good, "s").expect("a stream");
    assert!(stream.check_totals(&stream.manifest.totals).is_ok());
}

/// The dictionary of a block is allocated before it is unpacked.
#[test]
fn a_block_with_a_dictionary_that_the_writer_does_not_use_is_refused() {
    use sha2::Digest;
    let good = written();
    let ends: Vec<usize> = (0..good.len()).filter(|&at| good[at] == b'\n').take(2).collect();
    let mut rest = good[ends[0] + 1..].to_vec();
    let at = ends[1] - ends[0] + 16;
    assert_eq!(rest[at], 22);
    rest[at] = 40;
    let hash = crate::hexadecimal(&sha2::Sha256::digest(&rest));
    let bad = [format!("{MAGIC}{hash}\n").into_bytes(), rest].concat();
    assert_eq!(refused(&bad), "s: expected block 0 as its manifest says, found another");
}

#[test]
fn numbers_and_differences_come_back() {
    for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
        let mut bytes = Vec::new();
        numbers::put(&mut bytes, number);
        let mut rest = &bytes[..];
        assert_eq!((numbers::take(&mut rest), rest), (Some(number), &[][..]));
        assert_eq!(numbers::take(&mut &bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(numbers::take(&mut &[0xff; 10][..]), None);
    for (line, before) in [(0, 0), (0, u32::MAX), (u32::MAX, 0), (7, 9), (9, 7)] {
        let difference = numbers::difference(line, before);
        assert_eq!(numbers::line_after(before, difference), Some(line));
    }
    assert_eq!(numbers::line_after(0, 1), None);
    assert_eq!(numbers::line_after(5, u64::MAX), None);
}
