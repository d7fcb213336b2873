//! What must hold for the data: a check is a query and what it must answer. Checks of one name are parts of one
//! finding, so that several connections can check a large dataset warehouse by warehouse. The judgement is pure.

use plimsoll_model::text::escaped;
use std::collections::BTreeMap;

/// The rows of an answer as text; `None` is NULL.
pub type CheckAnswer = [Vec<Option<String>>];

/// Most violations that are shown of one part, and most parts.
const SHOWN: usize = 5;
/// The limit of a query for violations: one row more shows that there are more.
pub const ASKED: usize = SHOWN + 1;
/// Sums are exact in units of 0.0001.
const DECIMALS: usize = 4;

/// A query and what it must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is checked, and of which table, for people. All parts of a check have the same name.
    pub name: String,
    pub sql: String,
    pub expectation: Expectation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// These rows, in any order; letter case does not matter.
    Rows(Vec<Vec<Option<String>>>),
    /// At least these rows.
    Including(Vec<Vec<Option<String>>>),
    /// One row, whose single number is 0: the rows that violate something.
    None,
    /// One row, whose first half equals its second half.
    Halves,
    /// No row: any row is a violation; at most [`ASKED`] are asked for.
    Empty {
        columns: &'static [&'static str],
        /// What else says where violations are; may be empty.
        within: String,
    },
    /// Rows of a key and two numbers. Over all parts together, both numbers of a key must have the same sum.
    Balance { left: &'static str, right: &'static str },
    /// One number. Over all parts together, the sum must lie between these.
    Between { least: u64, most: u64 },
    /// Not asked, for this reason.
    Skipped(String),
}

/// The state of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Right after a load: the number of rows is known too.
    Loaded,
    /// After any number of runs.
    Driven,
}

/// What the clients of all runs on a dataset were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub runs: u64,
    /// Runs that began and have not ended: under way, or killed.
    pub open_runs: u64,
    /// A run kept the defects of an original that does not maintain every counter.
    pub compat: bool,
    /// A run deleted rows.
    pub purge: bool,
    /// What was acknowledged as committed, by what it is.
    pub committed: BTreeMap<String, u64>,
    /// Transactions whose COMMIT was sent and never answered.
    pub unknown: u64,
}

impl Ledger {
    /// Why it does not say what clients committed, if it does not.
    pub fn hides(&self) -> Option<&'static str> {
        match self {
            Ledger { open_runs: 1.., .. } => Some("a run on them did not end: what it committed is not known"),
            Ledger { purge: true, .. } => Some("an earlier run deleted history (--purge)"),
            _ => None,
        }
    }
}

impl Check {
    pub fn new(name: impl Into<String>, sql: impl Into<String>, expectation: Expectation) -> Check {
        Check { name: name.into(), sql: sql.into(), expectation }
    }

    /// A check that is named but not asked.
    pub fn skipped(name: impl Into<String>, why: impl Into<String>) -> Check {
        Check::new(name, "", Expectation::Skipped(why.into()))
    }

    /// Judges the answer to a check of one part.
    ///
    /// # Errors
    /// What was found and what was expected, in words.
    pub fn verdict(&self, answer: &CheckAnswer) -> Result<(), String> {
        let mut judgement = Judgement::default();
        judgement.add(self, answer);
        judgement.end(self)
    }
}

/// What the parts of one check have answered so far.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    broken: Vec<String>,
    /// A part has not been answered, so that sums say nothing.
    incomplete: bool,
    balance: BTreeMap<String, (i128, i128)>,
    sum: i128,
}

impl Judgement {
    /// Takes the answer of a part.
    pub fn add(&mut self, check: &Check, answer: &CheckAnswer) {
        let judged = match &check.expectation {
            Expectation::Rows(rows) => rows_verdict(rows, answer),
            Expectation::Including(rows) => including_verdict(rows, answer),
            Expectation::None => none_verdict(answer),
            Expectation::Halves => halves_verdict(answer),
            Expectation::Empty { columns, within } => empty_verdict(columns, within, answer),
            Expectation::Balance { .. } => self.weigh(answer),
            Expectation::Between { .. } => {
                single(answer).and_then(number).map(|units| self.sum += units).ok_or_else(|| odd(answer))
            }
            Expectation::Skipped(_) => Ok(()),
        };
        if let Err(found) = judged {
            self.broken.push(found);
        }
    }

    /// Notes that a part could not be asked.
    pub fn failed(&mut self, why: String) {
        self.incomplete = true;
        self.broken.push(why);
    }

    fn weigh(&mut self, answer: &CheckAnswer) -> Result<(), String> {
        for row in answer {
            let [Some(key), left, right] = row.as_slice() else { return Err(odd(answer)) };
            let (left, right) = number(std::slice::from_ref(left))
                .zip(number(std::slice::from_ref(right)))
                .ok_or_else(|| odd(answer))?;
            let entry = self.balance.entry(key.clone()).or_default();
            *entry = (entry.0 + left, entry.1 + right);
        }
        Ok(())
    }

    /// How much is missing from a sum that has to have a least size, in whole units; `None` if it is large enough.
    pub fn missing(&self, check: &Check) -> Option<u64> {
        let Expectation::Between { least, .. } = &check.expectation else { return None };
        let missing = i128::from(*least) - self.sum / 10_i128.pow(DECIMALS as u32);
        u64::try_from(missing).ok().filter(|missing| *missing > 0 && !self.incomplete)
    }

    /// Judges all parts together; `check` is any of them.
    ///
    /// # Errors
    /// What was found and what was expected, in words.
    pub fn end(mut self, check: &Check) -> Result<(), String> {
        match &check.expectation {
            Expectation::Balance { left: left_name, right: right_name } if !self.incomplete => {
                let unequal = self.balance.iter().filter(|(_, (left, right))| left != right);
                let told = |(key, (left, right)): (&String, &(i128, i128))| {
                    format!("{}: {left_name} {}, {right_name} {}", escaped(key), decimal(*left), decimal(*right))
                };
                self.broken.extend(unequal.map(told));
            }
            Expectation::Between { least, most } if !self.incomplete => {
                let unit = 10_i128.pow(DECIMALS as u32);
                if !(i128::from(*least) * unit..=i128::from(*most) * unit).contains(&self.sum) {
                    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
                    let others = match self.sum > i128::from(*most) * unit {
                        true => "; the ledger does not include clients other than Plimsoll's, if there were any",
                        false => "",
                    };
                    self.broken.push(format!("found {}, expected {expected}{others}", decimal(self.sum)));
                }
            }
            _ => {}
        }
        match self.broken.len() {
            0 => Ok(()),
            n if n > SHOWN => Err(format!("{}; and in {} more places", self.broken[..SHOWN].join("; "), n - SHOWN)),
            _ => Err(self.broken.join("; ")),
        }
    }
}

fn rows_verdict(rows: &[Vec<Option<String>>], answer: &CheckAnswer) -> Result<(), String> {
    match sorted(rows) == sorted(answer) {
        true => Ok(()),
        false if answer.is_empty() => Err("found nothing: the table is missing".to_owned()),
        false => Err(format!("found {}, expected {}", shown(answer), shown(rows))),
    }
}

fn including_verdict(rows: &[Vec<Option<String>>], answer: &CheckAnswer) -> Result<(), String> {
    let found = sorted(answer);
    let missing: Vec<_> = sorted(rows).into_iter().filter(|row| !found.contains(row)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false if answer.is_empty() => {
            Err(format!("found nothing: the table is missing, or has none of {}", shown(rows)))
        }
        false => Err(format!("found {}, without {}", shown(answer), shown(&missing))),
    }
}

fn none_verdict(answer: &CheckAnswer) -> Result<(), String> {
    match single(answer) {
        Some([Some(count)]) if count == "0" => Ok(()),
        Some([Some(count)]) => Err(format!("found {} rows that violate it, expected none", escaped(count))),
        _ => Err(odd(answer)),
    }
}

fn halves_verdict(answer: &CheckAnswer) -> Result<(), String> {
    match single(answer).map(|row| row.split_at(row.len() / 2)) {
        Some((left, right)) if left == right => Ok(()),
        _ => Err(format!("the two halves of {} differ", shown(answer))),
    }
}

fn empty_verdict(columns: &[&str], within: &str, answer: &CheckAnswer) -> Result<(), String> {
    let cell = |(column, cell): (&&str, &Option<String>)| format!("{column} {}", shown_cell(cell));
    let row = |row: &Vec<Option<String>>| columns.iter().zip(row).map(cell).collect::<Vec<_>>().join(", ");
    let rows: Vec<String> = answer.iter().take(SHOWN).map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let within = if within.is_empty() { String::new() } else { format!("{within}: ") };
    let more = if answer.len() > SHOWN { " and more" } else { "" };
    Err(format!("{within}({}){more}", rows.join(") (")))
}

fn odd(answer: &CheckAnswer) -> String {
    format!("found {}, expected one number", shown(answer))
}

fn single(answer: &CheckAnswer) -> Option<&[Option<String>]> {
    match answer {
        [row] => Some(row),
        _ => None,
    }
}

/// The one number of a row, in units of 0.0001; NULL, the sum of nothing, is 0.
fn number(row: &[Option<String>]) -> Option<i128> {
    let [cell] = row else { return None };
    let Some(text) = cell else { return Some(0) };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !digits(fraction) || fraction.len() > DECIMALS {
        return None;
    }
    format!("{whole}{fraction:0<DECIMALS$}").parse().ok()
}

fn decimal(units: i128) -> String {
    let unit = 10_u128.pow(DECIMALS as u32);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (units.unsigned_abs() / unit, units.unsigned_abs() % unit);
    let text = format!("{sign}{whole}.{fraction:0DECIMALS$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn sorted(rows: &CheckAnswer) -> Vec<Vec<Option<String>>> {
    let lower = |cell: &Option<String>| cell.as_ref().map(|text| text.to_lowercase());
    let mut rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(lower).collect()).collect();
    rows.sort();
    rows
}

/// Anybody may have written the contents of a row.
fn shown_cell(cell: &Option<String>) -> String {
    cell.as_deref().map_or_else(|| "NULL".to_owned(), escaped)
}

fn shown(rows: &CheckAnswer) -> String {
    let row = |row: &Vec<Option<String>>| format!("({})", row.iter().map(shown_cell).collect::<Vec<_>>().join(", "));
    let all = rows.iter().map(row).collect::<Vec<_>>().join(" ");
    if all.is_empty() { "nothing".to_owned() } else { all }
}

/// A row of texts, none of them NULL.
pub fn cells<const N: usize>(texts: [&str; N]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_hides_what_open_runs_and_purges_did() {
        assert_eq!(Ledger { runs: 3, unknown: 1, ..Ledger::default() }.hides(), None);
        for hiding in [Ledger { open_runs: 2, ..Ledger::default() }, Ledger { purge: true, ..Ledger::default() }] {
            assert!(hiding.hides().is_some(), "{hiding:?}");
        }
    }

    #[test]
    fn rows_that_come_are_violations_and_a_few_are_shown() {
        let within = "set 2".to_owned();
        let check = Check::new("c", "", Expectation::Empty { columns: &["w_id", "w_ytd"], within });
        assert_eq!(check.verdict(&[]), Ok(()));
        let row = vec![Some("1".to_owned()), None];
        assert_eq!(check.verdict(std::slice::from_ref(&row)), Err("set 2: (w_id 1, w_ytd NULL)".to_owned()));
        let many = check.verdict(&vec![row; ASKED]).expect_err("violations");
        assert!(many.matches("w_id").count() == SHOWN && many.ends_with("and more"), "{many}");
    }

    #[test]
    fn a_finding_lists_what_all_its_parts_found() {
        let part =
            |within: &str| Check::new("c", "", Expectation::Empty { columns: &["d_id"], within: within.to_owned() });
        let mut judgement = Judgement::default();
        judgement.add(&part("w_id 1"), &[cells(["7"])]);
        judgement.add(&part("w_id 2"), &[]);
        judgement.failed("lost".to_owned());
        assert_eq!(judgement.clone().end(&part("")), Err("w_id 1: (d_id 7); lost".to_owned()));
        for w in 0..9 {
            judgement.add(&part(&format!("w_id {w}")), &[cells(["7"])]);
        }
        let told = judgement.end(&part("")).expect_err("violations");
        assert!(told.ends_with("; and in 6 more places"), "{told}");
    }

    #[test]
    fn rows_show_what_would_steer_a_terminal() {
        let evil = || cells(["a\u{1b}[2J\n\u{202e}"]);
        let seen = r"a\u{1b}[2J\n\u{202e}";
        for expectation in [
            Expectation::Rows(vec![cells(["1"])]),
            Expectation::Including(vec![cells(["1"])]),
            Expectation::None,
            Expectation::Empty { columns: &["c"], within: String::new() },
            Expectation::Balance { left: "l", right: "r" },
            Expectation::Between { least: 0, most: 1 },
        ] {
            let found = Check::new("c", "", expectation).verdict(&[evil()]).expect_err("broken");
            assert!(found.contains(seen) && !found.contains(char::is_control), "{found:?}");
        }
        let halves = [evil(), cells(["b"])].concat();
        let found = Check::new("c", "", Expectation::Halves).verdict(&[halves]).expect_err("broken");
        assert!(found.contains(seen), "{found:?}");
        let keys = [evil(), cells(["1", "2"])].concat();
        let found = Check::new("c", "", Expectation::Balance { left: "l", right: "r" }).verdict(&[keys]);
        assert!(found.expect_err("broken").contains(seen));
    }

    #[test]
    fn sums_balance_over_all_parts() {
        let check = Check::new("b", "", Expectation::Balance { left: "s_ytd", right: "lines" });
        let mut judgement = Judgement::default();
        judgement.add(&check, &[cells(["w 1", "10", "0"]), cells(["w 1", "0", "4.5"])]);
        judgement.add(&check, &[cells(["w 1", "0", "5.50"]), vec![Some("w 2".to_owned()), None, Some("0".to_owned())]]);
        assert_eq!(judgement.clone().end(&check), Ok(()));
        judgement.add(&check, &[cells(["w 2", "0", "0.25"])]);
        assert_eq!(judgement.clone().end(&check), Err("w 2: s_ytd 0, lines 0.25".to_owned()));
        judgement.add(&check, &[cells(["w 2", "x", "0"])]);
        assert!(judgement.end(&check).is_err());
    }

    #[test]
    fn a_sum_lies_between_its_bounds() {
        let verdict = |least, most, numbers: &[&str]| {
            let check = Check::new("n", "", Expectation::Between { least, most });
            let mut judgement = Judgement::default();
            for text in numbers {
                judgement.add(&check, &[cells([text])]);
            }
            judgement.end(&check)
        };
        let others = "; the ledger does not include clients other than Plimsoll's, if there were any";
        assert_eq!(verdict(5, 5, &["2", "3"]), Ok(()));
        assert_eq!(verdict(5, 7, &["4", "3"]), Ok(()));
        assert_eq!(verdict(5, 7, &["4", "4"]), Err(format!("found 8, expected 5 to 7{others}")));
        assert_eq!(verdict(0, 0, &["-3"]), Err("found -3, expected 0".to_owned()));
        assert!(verdict(0, 9, &["many"]).is_err());
    }

    #[test]
    fn a_part_without_an_answer_breaks_a_sum_without_a_wrong_number() {
        let check = Check::new("n", "", Expectation::Between { least: 9, most: 9 });
        let mut judgement = Judgement::default();
        judgement.failed("lost".to_owned());
        assert_eq!(judgement.end(&check), Err("lost".to_owned()));
    }
}
