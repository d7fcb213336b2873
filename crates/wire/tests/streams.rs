//! Whole answers, written as servers do and cut anywhere, and answers that somebody has tampered with.

mod script;

use plimsoll_wire::WireError;
use plimsoll_wire::bytes::{Fields, put_counted, put_length};
use plimsoll_wire::capability::{DEPRECATE_EOF, MORE_RESULTS};
use plimsoll_wire::frame::{self, HEADER, MAX_PAYLOAD};
use plimsoll_wire::response::{Answer, Discard, KEPT_PAYLOAD_LIMIT, ResponseReader, ResponseTotals, Sink};
use plimsoll_wire::rows::TextRows;
use proptest::prelude::*;
use script::{Reply, Script, packet, put_column};

/// Reads an answer that comes in pieces which end at `cuts`, as a connection does: what is not used up is kept.
fn read<S: Sink>(
    reader: &mut ResponseReader,
    bytes: &[u8],
    cuts: &[usize],
    sink: &mut S,
) -> Result<(Option<Answer>, usize), WireError> {
    let mut input: Vec<u8> = Vec::new();
    let (mut used, mut from) = (0, 0);
    for to in cuts.iter().copied().filter(|cut| *cut < bytes.len()).chain([bytes.len()]) {
        input.extend(&bytes[from..to.max(from)]);
        from = to.max(from);
        let progress = reader.advance(&input, sink)?;
        assert!(progress.consumed <= input.len());
        input.drain(..progress.consumed);
        used += progress.consumed;
        if progress.answer.is_some() {
            return Ok((progress.answer, used));
        }
        // Whatever is whole has been used up, or it would be looked at for ever.
        assert!(frame::size(&input).is_none_or(|size| size > input.len()), "a whole packet was left");
    }
    Ok((None, used))
}

fn reader_for(script: &Script) -> ResponseReader {
    let mut reader = ResponseReader::new(script.capabilities);
    match script.prepare {
        true => reader.expect_prepare(1),
        false => reader.expect_result(1),
    }
    reader.allow_local_file(script.local_file);
    reader
}

/// The answer to a script, and what stood in its last result.
fn play(script: &Script, cuts: &[usize]) -> Result<(Answer, TextRows), WireError> {
    let mut reader = reader_for(script);
    let mut rows = TextRows::default();
    let (mut before, rest) = (0, script.bytes.len());
    if script.local_file {
        let (answer, used) = read(&mut reader, &script.bytes[..script.file_asked], cuts, &mut rows)?;
        assert_eq!((answer, used), (Some(Answer::WantsFile), script.file_asked));
        // Two packets of ours: content, and its end.
        reader.set_sequence(reader.sequence().wrapping_add(2));
        before = script.file_asked;
    }
    let shifted: Vec<usize> = cuts.iter().filter_map(|cut| cut.checked_sub(before)).collect();
    let (answer, used) = read(&mut reader, &script.bytes[before..], &shifted, &mut rows)?;
    assert_eq!(used, rest - before, "an answer ends where its bytes do");
    Ok((answer.expect("the answer is complete"), rows))
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just((1..4000).collect::<Vec<usize>>()),
        prop::collection::vec(0usize..4000, 0..20).prop_map(|mut cuts| {
            cuts.sort_unstable();
            cuts
        }),
    ]
}

/// Ways to tamper with bytes.
#[derive(Clone, Debug)]
enum Blow {
    Set(usize, u8),
    Insert(usize, u8),
    Delete(usize),
    Truncate(usize),
    Double(usize, usize),
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let blow = prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Blow::Set(at, byte)),
        (any::<usize>(), prop::sample::select(vec![0u8, 1, 0xfb, 0xfc, 0xfe, 0xff])).prop_map(|(a, b)| Blow::Set(a, b)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Blow::Insert(at, byte)),
        any::<usize>().prop_map(Blow::Delete),
        any::<usize>().prop_map(Blow::Truncate),
        (any::<usize>(), 0usize..40).prop_map(|(at, length)| Blow::Double(at, length)),
    ];
    prop::collection::vec(blow, 1..6)
}

fn tampered(mut bytes: Vec<u8>, blows: &[Blow]) -> Vec<u8> {
    for blow in blows {
        let place = |at: &usize| at % bytes.len().max(1);
        match blow {
            Blow::Set(at, byte) if !bytes.is_empty() => {
                let at = place(at);
                bytes[at] = *byte;
            }
            Blow::Insert(at, byte) => bytes.insert(place(at), *byte),
            Blow::Delete(at) if !bytes.is_empty() => drop(bytes.remove(place(at))),
            Blow::Truncate(at) => bytes.truncate(place(at)),
            Blow::Double(at, length) => {
                let at = place(at);
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {}
        }
    }
    bytes
}

/// Reads on and on until the bytes or the reader give up; ends, and never fails otherwise than by an error.
fn survive(script: &Script, bytes: &[u8], cuts: &[usize]) {
    let mut kept = TextRows::default();
    let _ = read(&mut reader_for(script), bytes, cuts, &mut kept);
    assert!(kept.rows.len() + kept.columns.len() <= bytes.len());
    let mut reader = reader_for(script);
    let mut rest = bytes;
    while let Ok((Some(_), used)) = read(&mut reader, rest, &[], &mut Discard) {
        assert!(used > 0, "an answer from nothing");
        rest = &rest[used..];
        reader.expect_result(1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_the_same_however_it_is_cut(script in script::scripts(), cuts in cuts()) {
        let (whole, rows) = play(&script, &[]).unwrap();
        prop_assert_eq!(&whole, &script.expected);
        prop_assert_eq!(&rows.rows, &script.last_rows);
        let (cut, rows) = play(&script, &cuts).unwrap();
        prop_assert_eq!(&cut, &script.expected);
        prop_assert_eq!(&rows.rows, &script.last_rows);
        let mut reader = reader_for(&script);
        let first = read(&mut reader, &script.bytes[..script.file_asked], &cuts, &mut Discard).unwrap();
        prop_assert_eq!(first.1, script.file_asked);
    }

    #[test]
    fn a_tampered_answer_is_an_error_at_worst(script in script::scripts(), blows in blows(), cuts in cuts()) {
        survive(&script, &tampered(script.bytes.clone(), &blows), &cuts);
    }

    #[test]
    fn garbage_is_an_error_at_worst(
        script in script::scripts(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        cuts in cuts(),
    ) {
        survive(&script, &bytes, &cuts);
        // Whole packets with garbage in them get further than garbage lengths do.
        let mut framed = Vec::new();
        for (number, piece) in bytes.chunks(12).enumerate() {
            packet(&mut framed, number as u8 + 1, piece);
        }
        survive(&script, &framed, &cuts);
    }

    #[test]
    fn lengths_come_back(values in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..70_000, (1u64 << 24) - 2..(1 << 24) + 2], 1..20)) {
        let mut out = Vec::new();
        values.iter().for_each(|value| put_length(&mut out, *value));
        put_counted(&mut out, b"end");
        let mut fields = Fields::new(&out, "test");
        for value in values {
            prop_assert_eq!(fields.length().unwrap(), value);
        }
        prop_assert_eq!(fields.counted_or_null().unwrap(), Some(&b"end"[..]));
        prop_assert!(fields.rest().is_empty() && fields.u8().is_err());
    }
}

fn outcome(rows: u64) -> Answer {
    Answer::Done(ResponseTotals { rows, result_sets: 1, status: 2, ..ResponseTotals::default() })
}

/// A result with one row of these bytes, which may need several packets.
fn result_of(row: &[u8], capabilities: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequence = packet(&mut out, 1, &[1]);
    sequence = put_column(&mut out, sequence, "c");
    if capabilities & DEPRECATE_EOF == 0 {
        sequence = packet(&mut out, sequence, &[0xfe, 0, 0, 2, 0]);
    }
    sequence = packet(&mut out, sequence, row);
    match capabilities & DEPRECATE_EOF {
        0 => packet(&mut out, sequence, &[0xfe, 0, 0, 2, 0]),
        _ => packet(&mut out, sequence, &[0xfe, 0, 0, 2, 0, 0, 0]),
    };
    out
}

#[test]
fn rows_over_sixteen_mebibytes_are_one_row() {
    let mut long_value = Vec::new();
    put_counted(&mut long_value, &vec![b'x'; MAX_PAYLOAD + 1]);
    assert_eq!(long_value[0], 0xfe, "begins as the end of rows does");
    let mut just_full = vec![0xfd];
    just_full.extend(&(MAX_PAYLOAD as u32 - 4).to_le_bytes()[..3]);
    just_full.resize(MAX_PAYLOAD, b'y');
    for row in [long_value, just_full] {
        for capabilities in [0, DEPRECATE_EOF] {
            let bytes = result_of(&row, capabilities);
            let cuts: Vec<usize> = (0..bytes.len()).step_by(5_000_001).collect();
            let mut reader = ResponseReader::new(capabilities);
            let counted = read(&mut reader, &bytes, &cuts, &mut Discard).unwrap();
            assert_eq!(counted, (Some(outcome(1)), bytes.len()));
            let mut rows = TextRows::default();
            reader.expect_result(1);
            let kept = read(&mut reader, &bytes, &cuts, &mut rows).unwrap();
            assert_eq!(kept, (Some(outcome(1)), bytes.len()));
            let value = rows.single().unwrap();
            assert!(value.len() + 9 >= row.len() && value.bytes().all(|byte| byte == row[row.len() - 1]));
        }
    }
}

#[test]
fn an_endless_packet_is_refused_where_it_would_be_kept() {
    let mut piece = vec![b'x'; HEADER + MAX_PAYLOAD];
    piece[..3].copy_from_slice(&[0xff; 3]);
    let mut start = Vec::new();
    let sequence = packet(&mut start, 1, &[1]);
    put_column(&mut start, sequence, "c");
    let mut reader = ResponseReader::new(DEPRECATE_EOF);
    let mut rows = TextRows::default();
    reader.advance(&start, &mut rows).unwrap();
    let kept = (0..20).try_for_each(|_| {
        piece[3] = reader.sequence();
        reader.advance(&piece, &mut rows).map(drop)
    });
    assert!(
        matches!(kept, Err(WireError::TooLarge { what: "a packet", bytes, .. })
        if bytes <= KEPT_PAYLOAD_LIMIT + MAX_PAYLOAD),
        "{kept:?}"
    );
}

#[test]
fn a_row_that_is_only_counted_may_have_any_length() {
    let mut reader = ResponseReader::new(DEPRECATE_EOF);
    let mut start = Vec::new();
    let sequence = packet(&mut start, 1, &[1]);
    put_column(&mut start, sequence, "c");
    reader.advance(&start, &mut Discard).unwrap();
    let mut piece = vec![b'x'; HEADER + MAX_PAYLOAD];
    piece[..3].copy_from_slice(&[0xff; 3]);
    for _ in 0..20 {
        piece[3] = reader.sequence();
        assert_eq!(reader.advance(&piece, &mut Discard).unwrap().answer, None);
    }
    let mut end = Vec::new();
    let sequence = packet(&mut end, reader.sequence(), &[]);
    packet(&mut end, sequence, &[0xfe, 0, 0, 2, 0, 0, 0]);
    assert_eq!(reader.advance(&end, &mut Discard).unwrap().answer, Some(outcome(1)));
}

#[test]
fn rows_without_content_take_memory_too() {
    let mut bytes = Vec::new();
    let mut sequence = packet(&mut bytes, 1, &[0xfc, 0, 16]);
    for _ in 0..4096 {
        sequence = put_column(&mut bytes, sequence, "c");
    }
    let mut reader = ResponseReader::new(DEPRECATE_EOF);
    let mut rows = TextRows::default();
    reader.advance(&bytes, &mut rows).unwrap();
    let mut error = None;
    for _ in 0..2000 {
        let mut row = Vec::new();
        packet(&mut row, reader.sequence(), &[0xfb; 4096]);
        error = reader.advance(&row, &mut rows).err();
        if error.is_some() {
            break;
        }
    }
    assert!(matches!(error, Some(WireError::TooLarge { what: "a result", .. })), "{error:?}");
}

#[test]
fn only_the_last_result_is_kept_even_after_an_empty_one() {
    let mut bytes = Vec::new();
    let mut sequence = packet(&mut bytes, 1, &[2]);
    sequence = put_column(&mut bytes, sequence, "first");
    sequence = put_column(&mut bytes, sequence, "second");
    sequence = packet(&mut bytes, sequence, &[0xfe, 0, 0, 2 | MORE_RESULTS as u8, 0, 0, 0]);
    sequence = packet(&mut bytes, sequence, &[1]);
    sequence = put_column(&mut bytes, sequence, "third");
    sequence = packet(&mut bytes, sequence, b"\x05value");
    packet(&mut bytes, sequence, &[0xfe, 0, 0, 2, 0, 0, 0]);
    let mut rows = TextRows::default();
    ResponseReader::new(DEPRECATE_EOF).advance(&bytes, &mut rows).unwrap();
    assert_eq!((rows.columns.as_slice(), rows.single()), (["third".to_owned()].as_slice(), Some("value")));
}

#[test]
fn each_breach_of_the_protocol_has_its_message() {
    let ok = Reply::ok(0).bytes(1);
    let mut late = ok.clone();
    late[3] = 2;
    let message = |bytes: &[u8]| {
        let mut reader = ResponseReader::new(DEPRECATE_EOF);
        reader.advance(bytes, &mut Discard).unwrap_err().to_string()
    };
    assert_eq!(message(&late), "the server's packets are out of order: expected number 1, found 2");
    let mut asks = Vec::new();
    packet(&mut asks, 1, b"\xfb/etc/passwd");
    assert_eq!(message(&asks), "the server asked for a local file although no load was under way");
    let mut columns = Vec::new();
    packet(&mut columns, 1, &[0xfc, 1, 16]);
    assert_eq!(message(&columns), "the server's result header is not understood: 4097 columns");
    let mut short = Vec::new();
    packet(&mut short, 1, &[0, 0]);
    assert_eq!(message(&short), "the server's OK packet ends in the middle of a field");
}

#[test]
fn an_error_may_come_at_any_place_and_before_it_is_asked_for() {
    let mut error = Vec::new();
    packet(&mut error, 0, b"\xff\x1d\x04#08S01bye");
    let mut reader = ResponseReader::new(DEPRECATE_EOF);
    let answer = reader.advance(&error, &mut Discard).unwrap().answer;
    assert!(matches!(answer, Some(Answer::Failed(message)) if message.code == 1053 && message.text == "bye"));
    let mut bytes = Vec::new();
    let mut sequence = packet(&mut bytes, 1, &[3]);
    sequence = put_column(&mut bytes, sequence, "c");
    packet(&mut bytes, sequence, b"\xff\x25\x05#70100killed");
    reader.expect_result(1);
    let answer = reader.advance(&bytes, &mut TextRows::default()).unwrap().answer;
    assert!(matches!(answer, Some(Answer::Failed(message)) if message.code == 1317));
}

#[test]
fn what_an_error_says_is_cleaned_and_cut() {
    let mut error = Vec::new();
    let text = [b"a\x1b[2J\x07\r\nb\xff\xc2\x9bc".as_slice(), &vec![b'x'; 1 << 15]].concat();
    packet(&mut error, 1, &[b"\xff\x28\x04#42000", text.as_slice()].concat());
    match ResponseReader::new(0).advance(&error, &mut Discard).unwrap().answer {
        Some(Answer::Failed(message)) => {
            assert!(message.text.starts_with("a[2J b\u{fffd}cxxx"), "{}", &message.text[..20]);
            assert!(message.text.len() < 10_000 && !message.text.contains(char::is_control));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_row_that_is_only_counted_need_not_be_kept_until_its_end() {
    let mut bytes = Vec::new();
    let mut sequence = packet(&mut bytes, 1, &[1]);
    sequence = put_column(&mut bytes, sequence, "c");
    // Longer than a packet, of exactly its length, and shorter; the first byte of some looks like an end or an error.
    let rows: [(u8, usize); 5] = [(1, MAX_PAYLOAD + 9), (0xfe, MAX_PAYLOAD), (2, MAX_PAYLOAD), (0, 70_000), (3, 1)];
    for (first, length) in rows {
        let mut row = vec![0xff; length];
        row[0] = first;
        sequence = packet(&mut bytes, sequence, &row);
    }
    packet(&mut bytes, sequence, &[0xfe, 0, 0, 2, 0, 0, 0]);
    for size in [8 << 10, 1_000_003, 16 << 20] {
        let mut reader = ResponseReader::new(DEPRECATE_EOF);
        let (mut kept, mut most, mut answer) = (Vec::new(), 0, None);
        for piece in bytes.chunks(size) {
            kept.extend_from_slice(piece);
            let progress = reader.advance(&kept, &mut Discard).unwrap();
            kept.drain(..progress.consumed);
            most = most.max(kept.len());
            answer = answer.or(progress.answer);
        }
        assert_eq!(answer, Some(outcome(5)), "in pieces of {size}");
        assert!(most <= HEADER, "{most} bytes of a row were kept in pieces of {size}");
    }
}

#[test]
fn what_is_no_row_is_refused_by_its_header() {
    let refused = |start: &[u8], long: &[u8]| {
        let mut reader = ResponseReader::new(DEPRECATE_EOF);
        reader.advance(start, &mut Discard).unwrap();
        reader.advance(long, &mut Discard).unwrap_err().to_string()
    };
    let mut columns = Vec::new();
    let sequence = packet(&mut columns, 1, &[1]);
    assert_eq!(
        refused(&columns, &[1, 0, 1, sequence, 3]),
        "the server sent a column definition of 65537 bytes; at most 65536 are accepted"
    );
    put_column(&mut columns, sequence, "c");
    for first in [0xfe, 0xff] {
        let end = "the server sent the end of a result of 65537 bytes; at most 65536 are accepted";
        assert_eq!(refused(&columns, &[1, 0, 1, 3, first]), end);
    }
    let head = "the server sent the head of an answer of 16777215 bytes; at most 65536 are accepted";
    assert_eq!(refused(&[], &[0xff, 0xff, 0xff, 1]), head);
    assert_eq!(refused(&columns, &[9, 0, 0, 7]), "the server's packets are out of order: expected number 3, found 7");
}

#[test]
fn results_of_one_statement_have_an_end() {
    let mut reader = ResponseReader::new(DEPRECATE_EOF);
    let more = [0, 0, 0, MORE_RESULTS as u8, 0, 0, 0];
    let mut ends = (0..).map(|_| {
        let mut ok = Vec::new();
        packet(&mut ok, reader.sequence(), &more);
        reader.advance(&ok, &mut Discard)
    });
    let error = ends.find_map(Result::err).expect("an end");
    assert_eq!(error.to_string(), "the server sent more than 1000 results in one answer");
}
