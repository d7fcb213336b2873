//! Two sides compared: one sentence that can be pasted into a pull request, and the table below it.

use crate::document::{Block, Document, Figure, Finding, Item, Section};
use crate::figure::delta::{self, Deltas};
use crate::interval::Measured;
use crate::section::caveats;
use crate::table::{Column, Table};
use crate::terminal::{BOLD, TextLook, rows};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Comparison, Design, Difference, Row, Side, Verdict, unlike_in_words};
use plimsoll_model::layout::{aligned, clean};
use plimsoll_model::number::{
    NOTHING, counted, number, percent, range, share_decimals, short, signed, signed_percent, tick,
};

/// The sentence, the table, then what else differs and the caveats; ends with a line break. With `colour`, the sentence
/// is bold and heads are dim; nothing else differs.
pub fn terminal(comparison: &Comparison, look: TextLook) -> String {
    let mut lines: Vec<String> =
        look.fact(&sentence(comparison)).into_iter().map(|line| look.style(BOLD, line)).collect();
    lines.push(String::new());
    lines.extend(rows(&table(comparison), look));
    if comparison.headline.load.is_none() {
        lines.push(SEVERAL.to_owned());
    }
    lines.push(String::new());
    lines.extend(remarks(comparison).iter().flat_map(|remark| look.fact(&clean(remark))));
    if !comparison.differences.is_empty() {
        lines.push("what else differs:".to_owned());
        lines.extend(differences(comparison).lines().map(str::to_owned));
    }
    let caveats = comparison.caveats.iter().map(|caveat| format!("caveat {}: {}", caveat.code, caveat.message));
    lines.extend(caveats.flat_map(|caveat| look.fact(&clean(&caveat))));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// The report of a comparison: the sentence, the table, what else differs, the caveats. `generated` says when and by
/// what.
pub fn document(comparison: &Comparison, generated: &str) -> Document {
    let (a, b) = (&comparison.a, &comparison.b);
    let differences = differences_table(&a.name, &b.name, &comparison.differences);
    let sections = [
        measured(comparison),
        Section::of("differences", "What else differs", differences.into_iter().collect()),
        caveats::section(&comparison.caveats, None, &[]),
    ];
    Document {
        title: format!("{} against {}", b.name, a.name),
        answer: sentence(comparison),
        findings: remarks(comparison).into_iter().map(Finding::of).collect(),
        facts: vec![comparison.workload.clone(), design(comparison)],
        sections: sections.into_iter().flatten().collect(),
        generated: generated.to_owned(),
        data: serde_json::to_value(comparison).unwrap_or_default(),
    }
}

fn measured(comparison: &Comparison) -> Option<Section> {
    let several = comparison.headline.load.is_none().then(|| SEVERAL.to_owned());
    let rows = Block::table("comparison", table(comparison), several);
    let recordings = |side: &Side| Item::of(format!("{}: {}", side.name, side.recordings.join(", ")));
    let sides = [&comparison.a, &comparison.b].into_iter().filter(|side| !side.recordings.is_empty());
    let mut blocks: Vec<Block> = changes(comparison).map(Block::Figure).into_iter().chain([rows]).collect();
    let sides: Vec<Item> = sides.map(recordings).collect();
    if !sides.is_empty() {
        blocks.extend([Block::subheading("Recordings"), Block::List(sides)]);
    }
    Section::of("comparison", "Load points", blocks)
}

/// How much the second side differs at each load point, in what decides.
fn changes(comparison: &Comparison) -> Option<Figure> {
    let deciding = comparison.headline.metric;
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.metric == deciding && row.load.is_some()).collect();
    let deltas = Deltas {
        what: format!("{} against {}", comparison.b.name, comparison.a.name),
        of: deciding.unit().to_owned(),
        systems: rows.iter().filter_map(|row| row.load).map(|load| load.to_string()).collect(),
        workloads: vec![comparison.workload.clone()],
        changes: vec![rows.iter().map(|row| Measured::from(&row.change)).collect()],
    };
    let caption = format!(
        "How much more or fewer {} {} has than {} at each load point, with the 95 % interval of the change.",
        deciding.unit(),
        comparison.b.name,
        comparison.a.name
    );
    delta::draw("changes", &deltas, &caption)
}

const SEVERAL: &str = "For each metric, the intervals of all load points hold together in 95 % of cases.";

/// Why it is not paired, and how far neighbouring rounds differ.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let unpaired = comparison.unpaired_because.iter().map(|why| format!("not paired: {why}"));
    unpaired.chain([&comparison.a, &comparison.b].into_iter().filter_map(noise)).collect()
}

/// What else differs between two sides of these names, as a table.
pub(crate) fn differences_table(a: &str, b: &str, all: &[Difference]) -> Option<Block> {
    let cells = |of: fn(&Difference) -> &Option<String>| {
        all.iter().map(|difference| of(difference).clone().unwrap_or_else(|| "not known".to_owned())).collect()
    };
    let columns = vec![
        Column::words("what", all.iter().map(|difference| difference.what.clone()).collect()),
        Column::words(a, cells(|difference| &difference.a)),
        Column::words(b, cells(|difference| &difference.b)),
    ];
    (!all.is_empty()).then(|| Block::table("differences", Table::new(columns), []))
}

/// What the comparison found, as one plain sentence.
pub fn sentence(comparison: &Comparison) -> String {
    let headline = &comparison.headline;
    let basis = format!("{}, {}, {}", figures(headline), place(comparison), design(comparison));
    let interval = headline.change.interval().map(|_| format!("({})", interval_in_full(&headline.change)));
    let text = match (headline.verdict, interval) {
        (Verdict::Higher | Verdict::Lower, Some(_)) => {
            format!("{} ({}): {basis}", changed(comparison), one_way(&headline.change))
        }
        (Verdict::Equivalent, Some(interval)) => format!(
            "No difference larger than {}: {} {interval}: {basis}",
            rounded_bound(comparison.equivalence),
            changed(comparison)
        ),
        (_, Some(interval)) => format!(
            "No verdict: {}, which may be chance {interval}: {basis}{}",
            changed(comparison),
            what_would_show(comparison)
        ),
        (_, None) => {
            let why = headline.change.missing.as_deref().unwrap_or("there is no interval");
            format!("No verdict: {}, which may be chance: {basis}; {why}", changed(comparison))
        }
    };
    let left_out = comparison.caveats.iter().any(|caveat| caveat.code == "load_points_left_out");
    let left_out = if left_out { ", only at the load points that both have" } else { "" };
    clean(&format!("{}{text}{left_out}.", unlike(comparison)))
}

/// Said before anything else where the sides did not do the same work; empty where they did.
fn unlike(comparison: &Comparison) -> String {
    match comparison.unlike_work.as_slice() {
        [] => String::new(),
        all => format!("Not the same work ({}), so this does not compare speed: ", unlike_in_words(all)),
    }
}

/// `new is 15.2 % slower than base`, `new takes 15.2 % longer than base`.
fn changed(comparison: &Comparison) -> String {
    let change = comparison.headline.change.value;
    let by = percent(change.abs());
    let difference = match (comparison.headline.metric.more_is_better(), change < 0.0) {
        (true, true) => format!("is {by} slower"),
        (true, false) => format!("is {by} faster"),
        (false, true) => format!("takes {by} less time"),
        (false, false) => format!("takes {by} longer"),
    };
    format!("{} {difference} than {}", comparison.b.name, comparison.a.name)
}

/// `1,514 against 1,786 transactions per second`: b first, since the sentence is about b.
fn figures(row: &Row) -> String {
    format!("{} against {} {}", short(row.b), short(row.a), row.metric.unit())
}

/// `oltp_read_write at 16 connections`, `oltp_read_write over 7 load points`.
fn place(comparison: &Comparison) -> String {
    let headline = &comparison.headline;
    match headline.load {
        Some(load) => format!("{} at {load}", comparison.workload),
        None => {
            let of_headline = comparison.rows.iter().filter(|row| row.metric == headline.metric);
            format!("{} over {} load points (geometric means)", comparison.workload, of_headline.count())
        }
    }
}

fn design(comparison: &Comparison) -> String {
    let (a, b) = (comparison.a.rounds, comparison.b.rounds);
    match comparison.design {
        Design::Paired if a == 1 => "1 pair".to_owned(),
        Design::Paired => format!("{a} interleaved pairs"),
        Design::Unpaired => format!("{} against {a}, not paired", counted(b as f64, "round")),
    }
}

/// The change that these pairs can detect, and how many would detect the bound.
fn what_would_show(comparison: &Comparison) -> String {
    let headline = &comparison.headline;
    let Some(detectable) = headline.detectable else { return String::new() };
    let shown = format!(
        "; with this spread, {} can detect {}",
        counted(comparison.a.rounds as f64, "pair"),
        percent(detectable)
    );
    // More pairs than these were run if the change lies near the bound, where many more are needed to decide.
    match headline.pairs_needed.filter(|needed| *needed > comparison.a.rounds) {
        Some(needed) => {
            format!("{shown}, {} could detect {}", number(needed as f64, 0), rounded_bound(comparison.equivalence))
        }
        None => shown,
    }
}

/// One row by load point and metric, after the one over all load points where there are several.
fn table(comparison: &Comparison) -> Table {
    let all = comparison.headline.load.is_none().then_some(&comparison.headline);
    let shown: Vec<&Row> = all.into_iter().chain(&comparison.rows).collect();
    rows_table(&comparison.a.name, &comparison.b.name, &shown)
}

/// The rows of a comparison of `a` and `b`.
pub(crate) fn rows_table(a: &str, b: &str, shown: &[&Row]) -> Table {
    let cells = |of: &dyn Fn(&Row) -> String| shown.iter().map(|row| of(row)).collect::<Vec<_>>();
    Table::new(vec![
        Column::words("load", cells(&load)),
        Column::words("metric", cells(&|row| metric(row.metric).to_owned())),
        Column::numbers(a, "", cells(&|row| short(row.a))),
        Column::numbers(b, "", cells(&|row| short(row.b))),
        change(shown),
        Column::numbers("interval", "95 %", cells(&|row| interval_cell(&row.change))),
        Column::words("verdict", cells(&|row| verdict(row).to_owned())),
    ])
}

/// In percent. For people, its interval has a column of its own; for programs, it stands with the number.
fn change(shown: &[&Row]) -> Column {
    let cell = |row: &&Row| signed(row.change.value, share_decimals(row.change.value));
    let of = shown.iter().map(|row| Measured::from(&row.change).scaled(100.0)).collect();
    Column { of, ..Column::numbers("change", "%", shown.iter().map(cell).collect()) }
}

fn load(row: &Row) -> String {
    row.load.map_or("all".to_owned(), |load| load.to_string())
}

pub(crate) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::TransactionsPerSecond => "transactions/s",
        Metric::Nopm => "new orders/min",
        Metric::P99 => "p99 ms",
        Metric::ServerCpuUsPerTransaction => "server CPU µs/transaction",
        other => other.unit(),
    }
}

/// The verdict on b.
pub(crate) fn verdict(row: &Row) -> &'static str {
    match (row.verdict, row.metric) {
        (Verdict::Equivalent, _) => "no difference",
        (Verdict::Unclear, _) => "unclear",
        (Verdict::Higher, Metric::ServerCpuUsPerTransaction) => "more",
        (Verdict::Lower, Metric::ServerCpuUsPerTransaction) => "less",
        (verdict, metric) if (verdict == Verdict::Higher) == metric.more_is_better() => "faster",
        _ => "slower",
    }
}

fn noise(side: &Side) -> Option<String> {
    let floor = side.noise_floor.as_ref()?;
    let shown = Measured::from(floor).scaled(100.0).told_with_ends(share_decimals(floor.value));
    let value = percent(floor.value);
    let text =
        format!("noise: two neighbouring rounds of {} differ by up to {value} in 19 of 20 cases ({shown})", side.name);
    Some(clean(&text))
}

fn differences(comparison: &Comparison) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or("not known".to_owned(), clean);
    let head = format!("  \t{}\t{}", clean(&comparison.a.name), clean(&comparison.b.name));
    let line = |difference: &Difference| {
        format!("  {}\t{}\t{}", clean(&difference.what), value(&difference.a), value(&difference.b))
    };
    let lines: Vec<String> = std::iter::once(head).chain(comparison.differences.iter().map(line)).collect();
    aligned(&lines.join("\n"))
}

/// `2 %`, `0.5 %`: as somebody typed it.
fn bound(share: f64) -> String {
    format!("{} %", tick(100.0 * share))
}

/// The same for a bound that was measured: `2.1 %`.
fn rounded_bound(share: f64) -> String {
    bound((1000.0 * share).round() / 1000.0)
}

/// `95 % interval −2.0 % to +8.5 %`.
pub(crate) fn interval_in_full(change: &Estimate) -> String {
    format!("{} % interval {}", confidence(change), interval_cell(change))
}

/// `−2.0 to +8.5 %`; the interval of a change that is certain has one sign.
pub(crate) fn interval_cell(change: &Estimate) -> String {
    match change.interval() {
        Some((low, high)) => format!("{} to {}", signed(low, share_decimals(low)), signed_percent(high)),
        None => NOTHING.to_owned(),
    }
}

/// `95 % interval 12.9 – 17.4 %` of a change whose direction is told in words.
fn one_way(change: &Estimate) -> String {
    let (low, high) = change.interval().unwrap_or_default();
    let (least, most) = if change.value < 0.0 { (-high, -low) } else { (low, high) };
    format!("{} % interval {} %", confidence(change), range(100.0 * least, 100.0 * most, share_decimals(most)))
}

/// `95`, `99.3`.
pub(crate) fn confidence(change: &Estimate) -> String {
    number(100.0 * change.confidence, 1).trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Caveat;
    use plimsoll_model::LoadPoint;
    use plimsoll_model::comparison::SCHEMA_VERSION;

    const PLAIN: TextLook = TextLook::PLAIN;
    const COLOURED: TextLook = TextLook { colour: true, ..PLAIN };

    fn row(metric: Metric, (a, b): (f64, f64), interval: Option<(f64, f64)>, verdict: Verdict) -> Row {
        let value = b / a - 1.0;
        let change = match interval {
            Some(ends) => Estimate::new(value, ends, 0.95, 5.0, "5 pairs, t interval".to_owned()),
            None => Estimate::bare(value, 1.0, "1 pair".to_owned(), "1 pair cannot have an interval; 3 can".to_owned()),
        };
        let (detectable, pairs_needed) = interval.map(|_| (0.09, 24)).unzip();
        Row { load: Some(LoadPoint::closed(16)), metric, a, b, change, verdict, detectable, pairs_needed }
    }

    fn comparison(headline: Row) -> Comparison {
        let side = |name: &str| Side {
            name: name.to_owned(),
            variant: "run".to_owned(),
            recordings: Vec::new(),
            rounds: 5,
            noise_floor: Some(Estimate::new(0.031, (0.02, 0.09), 0.95, 4.0, String::new())),
        };
        Comparison {
            schema_version: SCHEMA_VERSION,
            workload: "oltp_read_write".to_owned(),
            a: side("base"),
            b: side("new"),
            design: Design::Paired,
            unpaired_because: None,
            equivalence: 0.02,
            rows: vec![headline.clone()],
            headline,
            unlike_work: Vec::new(),
            differences: Vec::new(),
            switchback: None,
            caveats: Vec::new(),
        }
    }

    fn throughput(b: f64, interval: (f64, f64), verdict: Verdict) -> Comparison {
        comparison(row(Metric::TransactionsPerSecond, (1786.0, b), Some(interval), verdict))
    }

    #[test]
    fn a_certain_difference_is_told_with_its_direction() {
        assert_eq!(
            sentence(&throughput(1514.0, (-0.174, -0.129), Verdict::Lower)),
            "new is 15.2 % slower than base (95 % interval 12.9 – 17.4 %): 1,514 against 1,786 transactions per second, \
             oltp_read_write at 16 connections, 5 interleaved pairs."
        );
        let faster = sentence(&throughput(4000.0, (1.1, 1.4), Verdict::Higher));
        assert!(faster.starts_with("new is 124 % faster than base (95 % interval 110 – 140 %): 4,000"), "{faster}");
    }

    #[test]
    fn no_difference_and_no_verdict_are_answers_too() {
        assert_eq!(
            sentence(&throughput(1790.0, (-0.008, 0.0139), Verdict::Equivalent)),
            "No difference larger than 2 %: new is 0.2 % faster than base (95 % interval −0.8 to +1.4 %): 1,790 against \
             1,786 transactions per second, oltp_read_write at 16 connections, 5 interleaved pairs."
        );
        assert_eq!(
            sentence(&throughput(1841.4, (-0.02, 0.085), Verdict::Unclear)),
            "No verdict: new is 3.1 % faster than base, which may be chance (95 % interval −2.0 to +8.5 %): 1,841 against 1,786 \
             transactions per second, oltp_read_write at 16 connections, 5 interleaved pairs; with this spread, 5 pairs \
             can detect 9.0 %, 24 could detect 2 %."
        );
        let mut once = comparison(row(Metric::Nopm, (1786.0, 1514.0), None, Verdict::Unclear));
        (once.a.rounds, once.b.rounds) = (1, 1);
        assert_eq!(
            sentence(&once),
            "No verdict: new is 15.2 % slower than base, which may be chance: 1,514 against 1,786 new orders per minute, oltp_read_write \
             at 16 connections, 1 pair; 1 pair cannot have an interval; 3 can."
        );
    }

    #[test]
    fn more_of_a_response_time_is_longer() {
        let latency = |b, interval, verdict| {
            let headline = row(Metric::P99, (10.0, b), Some(interval), verdict);
            comparison(Row { load: Some(LoadPoint { connections: 16, rate: Some(500.0) }), ..headline })
        };
        let longer = sentence(&latency(12.0, (0.15, 0.25), Verdict::Higher));
        assert!(
            longer.starts_with("new takes 20.0 % longer than base (95 % interval 15.0 – 25.0 %): 12.0 against 10.0 ms")
        );
        assert!(longer.contains("at 16 connections at 500 arrivals per second"), "{longer}");
        let shorter = sentence(&latency(8.0, (-0.25, -0.15), Verdict::Lower));
        assert!(shorter.starts_with("new takes 20.0 % less time than base (95 % interval 15.0 – 25.0 %)"), "{shorter}");
    }

    #[test]
    fn sides_that_did_other_work_are_said_to_before_any_number() {
        let mut found = throughput(1514.0, (-0.174, -0.129), Verdict::Lower);
        let (a, b) = (Some("100000".to_owned()), Some("250000".to_owned()));
        found.unlike_work = vec![Difference { what: "table_size".to_owned(), a, b }];
        let told = sentence(&found);
        let begins = "Not the same work (table_size 100000 and 250000), so this does not compare speed: new is 15.2 %";
        assert!(told.starts_with(begins), "{told}");
    }

    #[test]
    fn the_sentence_is_the_first_line_and_the_rest_follows() {
        let mut found = throughput(1514.0, (-0.174, -0.129), Verdict::Lower);
        found.rows.push(row(Metric::ServerCpuUsPerTransaction, (100.0, 118.0), Some((0.1, 0.2)), Verdict::Higher));
        found.rows.push(Row { load: Some(LoadPoint::closed(64)), ..found.rows[0].clone() });
        found.headline.load = None;
        found.differences = vec![Difference {
            what: "settings.innodb_io_capacity".to_owned(),
            a: Some("200\u{1b}[31m".to_owned()),
            b: None,
        }];
        found.caveats = vec![Caveat::new("unlike_durability", "compare at equal durability")];
        found.unpaired_because = Some("5 rounds of base against 4 of new".to_owned());
        found.design = Design::Unpaired;
        found.b.rounds = 4;
        let shown = terminal(&found, PLAIN);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[0].ends_with("oltp_read_write over 2 load points (geometric means), 4 rounds against 5, not paired.")
        );
        let has = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
        for words in [
            &["load", "metric", "base", "new", "change", "interval", "verdict"][..],
            &["all", "transactions/s", "1,786", "1,514", "−15.2", "−17.4 to −12.9 %", "slower"],
            &["64 connections", "slower"],
            &["16 connections", "server CPU µs/transaction", "+18.0", "more"],
            &["not paired: 5 rounds of base against 4 of new"],
            &["two neighbouring rounds of base differ by up to 3.1 %"],
            &["settings.innodb_io_capacity", "200[31m", "not known"],
            &["caveat unlike_durability: compare at equal durability"],
        ] {
            assert!(has(words), "{words:?} in\n{shown}");
        }
        assert!(!shown.contains('\u{1b}') && terminal(&found, COLOURED).starts_with(BOLD));
    }
}
