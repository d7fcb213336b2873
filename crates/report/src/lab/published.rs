//! What the source printed beside what was measured here, what it measured on, and what it left open.

use crate::document::{Block, Section};
use crate::figure::beside::{self, name, note};
use crate::interval::Measured;
use crate::subject::{Published, Recorded};
use crate::table::{Column, Table};
use plimsoll_model::Estimate;
use plimsoll_model::number::{NOTHING, counted, short, tick};
use plimsoll_model::published::{Printed, PublishedKind};
use serde_json::{Value, json};

/// Results first: those with a number measured here in a figure, others that were judged in a table, and what the plan
/// does not ask folded. Then what cannot be measured again.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let (results, others): (Vec<_>, Vec<_>) =
        by_place(&recorded.published).into_iter().partition(|of| of.printed.kind.is_result());
    let rest = results.into_iter().filter(|of| !beside::is_drawn(of));
    let (judged, not_asked): (Vec<_>, Vec<_>) = rest.partition(|of| is_judged(of));
    let caption = "What the source printed and what was measured here. Other machines give other numbers: what can be \
                   expected to hold is which number is larger, and by how much.";
    let mut blocks: Vec<Block> =
        beside::draw("published", &recorded.published, caption).map(Block::Figure).into_iter().collect();
    if !judged.is_empty() {
        let remark = "An ordering or a range holds here if the intervals leave no doubt about it.";
        blocks.push(Block::table("claims", judgements(&judged), [remark.to_owned()]));
    }
    let folded = [
        ("Printed or claimed, but not asked here", "not-asked", results_not_asked(&not_asked)),
        ("What the source measured on, what it advised, and what it says of other times", "source", source(&others)),
    ];
    let folded = folded.into_iter().filter(|(_, _, table)| table.rows() > 0);
    blocks.extend(folded.map(|(words, name, table)| Block::folded(words, name, table)));
    if !recorded.chosen.is_empty() {
        blocks.push(Block::subheading("What the source does not print, and what was chosen instead"));
        blocks.push(Block::Pairs(recorded.chosen.clone()));
    }
    Some(
        Section::of("published", "Published and measured here", blocks)?
            .found(answer(&recorded.published).unwrap_or_default()),
    )
}

/// `Of 9 claims of the source 5 hold here, 2 do not, and 2 cannot be told.`; none where nothing of it could be told.
pub fn answer(published: &[Published]) -> Option<String> {
    let is_claim = |of: &&Published| {
        of.printed.kind.is_result() && (of.holds.is_some() || (of.unknown.is_some() && is_judged(of)))
    };
    let claims: Vec<&Published> = published.iter().filter(is_claim).collect();
    let with = |holds: Option<bool>| claims.iter().filter(|of| of.holds == holds).count();
    let (hold, hold_not) = (with(Some(true)), with(Some(false)));
    if hold + hold_not == 0 {
        return None;
    }
    let told = |count: usize, one: &str, several: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { several }))
    };
    let not = if hold > 0 { ["does not", "do not"] } else { ["does not hold here", "do not hold here"] };
    let mut parts: Vec<String> =
        [told(hold, "holds here", "hold here"), told(hold_not, not[0], not[1])].into_iter().flatten().collect();
    parts.extend((with(None) > 0).then(|| format!("{} cannot be told", with(None))));
    let last = parts.pop()?;
    let listed = if parts.is_empty() { last } else { format!("{}, and {last}", parts.join(", ")) };
    Some(format!("Of {} of the source {listed}.", counted(claims.len() as f64, "claim")))
}

/// Results grouped by place, the places in the order in which they first occur.
fn by_place(published: &[Published]) -> Vec<&Published> {
    let first = |of: &Published| published.iter().position(|other| other.printed.place == of.printed.place);
    let mut sorted: Vec<&Published> = published.iter().collect();
    sorted.sort_by_key(|of| first(of));
    sorted
}

fn is_judged(of: &Published) -> bool {
    of.measured.is_some() || of.holds.is_some() || of.printed.ordering.is_some()
}

/// What the source says, and whether that is so here.
fn judgements(published: &[&Published]) -> Table {
    let measured: Vec<Measured> =
        published.iter().map(|of| of.measured.as_ref().map(Measured::from).unwrap_or_default()).collect();
    let mut columns = statements(published);
    if measured.iter().any(|of| of.value.is_some()) {
        columns.push(Column::measured("measured here", "", 1, &measured));
    }
    columns.push(Column::words("here", published.iter().map(|of| verdict(of)).collect()));
    columns.push(notes(published));
    of_some(columns)
}

fn results_not_asked(published: &[&Published]) -> Table {
    let mut columns = statements(published);
    let why = |of: &&Published| of.unknown.clone().unwrap_or_else(|| "nothing measured here can tell".to_owned());
    columns.push(Column::words("not asked here, since", published.iter().map(why).collect()));
    columns.push(notes(published));
    of_some(columns)
}

/// Set-up, advice and history, as the source has them.
fn source(published: &[&Published]) -> Table {
    let mut columns = statements(published);
    columns.push(notes(published));
    of_some(columns)
}

fn statements(published: &[&Published]) -> Vec<Column> {
    let words = |of: fn(&Printed) -> String| published.iter().map(|one| of(&one.printed)).collect::<Vec<_>>();
    vec![
        Column::words("place", words(|of| of.place.clone().unwrap_or_default())),
        Column::words("what", words(name)),
        Column::words("published", words(said)),
        Column::words("unit", words(|of| of.unit.clone().unwrap_or_default())),
    ]
}

fn notes(published: &[&Published]) -> Column {
    Column::words("note", published.iter().map(|of| note(&of.printed)).collect())
}

/// A table of the columns that are not empty.
fn of_some(mut columns: Vec<Column>) -> Table {
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    Table::new(columns)
}

/// The statement as printed: a number with all its digits.
pub(crate) fn said(of: &Printed) -> String {
    let numbers = |values: &[f64]| values.iter().copied().map(tick).collect::<Vec<_>>().join(" · ");
    let said = [
        of.value.map(tick),
        of.values.as_deref().map(numbers),
        of.range.map(|range| no_difference(of).unwrap_or_else(|| format!("{} to {}", tick(range.0), tick(range.1)))),
        of.ordering.as_ref().map(|names| names.join(", then ")),
        of.text.clone(),
    ];
    said.into_iter().flatten().next().unwrap_or_else(|| NOTHING.to_owned())
}

/// The words for a claim that something changes nothing: a range of changes around zero.
fn no_difference(of: &Printed) -> Option<String> {
    let (low, high) = of.range?;
    let is_one = of.metric == "change_percent" && of.kind == PublishedKind::Claim && low == -high;
    is_one.then(|| format!("no difference larger than {} %", tick(high)))
}

/// `holds here`, `does not hold`, `cannot be decided: …`; for a number, how the measured one compares.
fn verdict(of: &Published) -> String {
    let number = || Some(against(of.measured.as_ref()?, of.printed.value?));
    match (of.holds, &of.unknown) {
        (Some(true), _) => "holds here".to_owned(),
        (Some(false), _) => "does not hold".to_owned(),
        (None, Some(why)) => format!("cannot be decided: {why}"),
        (None, None) => number().unwrap_or_default(),
    }
}

/// How a measured number compares with the printed one: as a ratio, or for a loss by its direction.
fn against(measured: &Estimate, printed: f64) -> String {
    if printed > 0.0 && measured.value > 0.0 {
        return format!("{} × the printed number", short(measured.value / printed));
    }
    let is_sure = measured.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let told = match (printed == 0.0, (printed < 0.0) == (measured.value < 0.0)) {
        _ if !is_sure => "neither a gain nor a loss is shown",
        (true, _) => "a difference, where none is printed",
        (false, true) => "in the same direction",
        (false, false) => "in the other direction",
    };
    told.to_owned()
}

/// For programs.
pub(super) fn data(of: &Published) -> Value {
    let Published { printed, at: _, measured, holds, unknown } = of;
    json!({
        "id": printed.id,
        "kind": printed.kind,
        "place": printed.place,
        "of": name(printed),
        "metric": printed.metric,
        "unit": printed.unit,
        "value": printed.value,
        "values": printed.values,
        "range": printed.range,
        "ordering": printed.ordering,
        "text": printed.text,
        "limit": printed.limit,
        "note": printed.note,
        "measured": measured,
        "holds": holds,
        "unknown": unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_printed_is_told_with_all_its_digits() {
        let none = Printed::default;
        let fc_nfs = Some(vec!["fc".to_owned(), "nfs".to_owned()]);
        for (of, shown) in [
            (Printed { value: Some(104.73), ..none() }, "104.73"),
            (Printed { values: Some(vec![0.0001, 13431.0]), ..none() }, "0.0001 · 13,431"),
            (Printed { range: Some((0.05, 1.5)), ..none() }, "0.05 to 1.5"),
            (Printed { ordering: fc_nfs, ..none() }, "fc, then nfs"),
            (Printed { text: Some("about a seventh".to_owned()), ..none() }, "about a seventh"),
        ] {
            assert_eq!(said(&of), shown);
        }
    }

    #[test]
    fn a_limit_of_the_plan_is_told_as_such_beside_the_words_of_the_source() {
        let text = Some("slightly better".to_owned());
        let of = Printed { text, unit: Some("%".to_owned()), limit: Some((0.0, 5.0)), ..Printed::default() };
        assert_eq!(said(&of), "slightly better");
        assert_eq!(note(&of), "judged by 0 to 5 %, a limit of this plan, not of the source");
    }

    #[test]
    fn claims_are_counted_first() {
        let claim = |holds: Option<bool>| Published {
            printed: Printed {
                kind: PublishedKind::Claim,
                ordering: Some(vec!["fc".to_owned()]),
                ..Printed::default()
            },
            holds,
            unknown: holds.is_none().then(|| "chance".to_owned()),
            ..Published::default()
        };
        let told = |claims: &[Option<bool>]| answer(&claims.iter().map(|holds| claim(*holds)).collect::<Vec<_>>());
        let mixed = [Some(true), Some(true), Some(false), None, None];
        assert_eq!(
            told(&mixed).as_deref(),
            Some("Of 5 claims of the source 2 hold here, 1 does not, and 2 cannot be told.")
        );
        assert_eq!(told(&[Some(true)]).as_deref(), Some("Of 1 claim of the source 1 holds here."));
        assert_eq!(told(&[None]), None, "what was measured says more");
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_number_is_set_against_the_one_that_is_printed() {
        let estimate = |low: f64, high: f64| Estimate::new((low + high) / 2.0, (low, high), 0.95, 3.0, String::new());
        for (measured, printed, told) in [
            (estimate(40.0, 60.0), 100.0, "0.500 × the printed number"),
            (estimate(-12.0, -8.0), -9.0, "in the same direction"),
            (estimate(-12.0, -8.0), 50.0, "in the other direction"),
            (estimate(-12.0, 2.0), -9.0, "neither a gain nor a loss is shown"),
            (estimate(1.0, 2.0), 0.0, "a difference, where none is printed"),
        ] {
            assert_eq!(against(&measured, printed), told);
        }
    }

    #[test]
    fn a_range_around_nothing_is_a_claim_of_no_difference() {
        let printed = |metric: &str, range| {
            let kind = PublishedKind::Claim;
            Printed { metric: metric.to_owned(), kind, range: Some(range), ..Printed::default() }
        };
        assert_eq!(said(&printed("change_percent", (-5.0, 5.0))), "no difference larger than 5 %");
        assert_eq!(said(&printed("change_percent", (2.0, 9.0))), "2 to 9");
        assert_eq!(said(&printed("nopm", (-5.0, 5.0))), "−5 to 5");
    }
}
