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
    assert_eq!(refused(b"BENCH,NR_WAYS\n"), "s: expected a stream that fairways record wrote");
    assert_eq!(
        refused(&good[..good.len() - 1]),
        "s: expected the stream as it was written, found it cut or altered"
    );
}

/// As one that an adversary wrote: the hash is right.
#[test]
fn a_manifest_that_does_not_fit_its_blocks_is_refused() {
    use sha2::Digest;
    let good = written();
    let start = good.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    let end = good[start..].iter().position(|&byte| byte == b'\n').expect("a line") + start;
    let text = str::from_utf8(&good[start..end]).expect("JSON");
    for (from, to) in [
        ("\"events\":262144", "\"events\":262143"),
        ("\"events\":262144", "\"events\":4294967295"),
        (
            "\"slice\":1}]",
            "\"slice\":1},{\"bytes\":1,\"events\":1,\"instructions\":1,\"slice\":1}]",
        ),
        ("\"cpi\"", "\"cpu\""),
    ] {
        let mut rest = text.replacen(from, to, 1).into_bytes();
        assert_ne!(rest, text.as_bytes(), "{from}");
        rest.extend(&good[end..]);
        let hash = crate::hexadecimal(&sha2::Sha256::digest(&rest));
        let bad = [format!("{MAGIC}{hash}\n").into_bytes(), rest].concat();
        assert_eq!(refused(&bad).lines().count(), 1, "{to}");
    }
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
