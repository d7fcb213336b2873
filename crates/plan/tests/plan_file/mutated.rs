//! Whatever is done to the text of a plan, it is read or refused with a line of it.

use super::{EXAMPLE, read};
use plimsoll_plan::PlanError;
use proptest::prelude::*;

/// What takes the place of a piece of the text: values of other types, too large, too small, and bits of syntax.
const PIECES: [&str; 24] = [
    "",
    "-1",
    "0",
    "99999999999999999999999999999999999999999",
    "18446744073709551616",
    "1e400",
    "nan",
    "-inf",
    "\"\"",
    "true",
    "[]",
    "{}",
    "[[\"a\"]]",
    "{ commands = [] }",
    "2026-01-02",
    "\"p99 < 1ms\"",
    "\"1..100000+1\"",
    "é",
    "\u{0}",
    "\n",
    "\"",
    "[",
    "a.b.c = 1",
    "\"\\u0000\"",
];

fn check(text: &str, preset: Option<&str>) -> Result<(), TestCaseError> {
    let lines = text.lines().count().max(1);
    match read(text, preset) {
        Ok(_) => Ok(()),
        Err(PlanError::File { at, .. }) => {
            prop_assert_eq!(&at.file, "plan.toml");
            prop_assert!((1..=lines).contains(&at.line), "line {} of {lines}:\n{text}", at.line);
            Ok(())
        }
        Err(other) => Err(TestCaseError::fail(format!("has no line: {other}"))),
    }
}

fn boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_are_replaced(
        changes in prop::collection::vec((0..EXAMPLE.len(), 0..20_usize, 0..PIECES.len()), 1..4),
        small in any::<bool>(),
    ) {
        let mut text = EXAMPLE.to_owned();
        for (from, length, piece) in changes {
            let from = boundary(&text, from.min(text.len()));
            let to = boundary(&text, (from + length).min(text.len()));
            text.replace_range(from..to, PIECES[piece]);
        }
        check(&text, small.then_some("small"))?;
    }

    #[test]
    fn lines_are_lost_doubled_and_moved(
        changes in prop::collection::vec((0..100_usize, 0..100_usize, 0..3), 1..5),
        small in any::<bool>(),
    ) {
        let mut lines: Vec<&str> = EXAMPLE.lines().collect();
        for (from, to, what) in changes {
            let (from, to) = (from % lines.len(), to % lines.len());
            match what {
                0 => drop(lines.remove(from)),
                1 => lines.insert(to, lines[from]),
                _ => lines.swap(from, to),
            }
        }
        check(&lines.join("\n"), small.then_some("small"))?;
    }

    /// A mutation that stays TOML gets deeper into the reader than one that does not.
    #[test]
    fn values_are_replaced(changes in prop::collection::vec((0..100_usize, 0..PIECES.len()), 1..4)) {
        let mut lines: Vec<String> = EXAMPLE.lines().map(str::to_owned).collect();
        for (at, piece) in changes {
            let at = at % lines.len();
            if let Some((key, _)) = lines[at].clone().split_once('=') {
                lines[at] = format!("{key}= {}", PIECES[piece]);
            }
        }
        check(&lines.join("\n"), None)?;
    }
}
