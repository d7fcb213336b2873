//! Comparisons as tables, in plain text or Markdown.

use crate::compare::{BenchRow, PeerComparison};

/// One comparison: every quantity with its spread, its target and whether that is met.
pub fn comparison(comparison: &PeerComparison, markdown: bool) -> String {
    let header = ["", "median", "quartiles", "min – max", "target", ""];
    let rows: Vec<_> = comparison.rows.iter().map(cells).collect();
    // A comparison that was left out has nothing but its notes.
    let mut tables = if rows.is_empty() { String::new() } else { table(&header.map(str::to_owned), &rows, markdown) };
    if let Some(counts) = &comparison.counts {
        let header: Vec<String> = counts.header.iter().map(|name| (*name).to_owned()).collect();
        tables += &table(&header, &counts.rows, markdown);
    }
    let (heading, bullet) = if markdown { ("## ", "- ") } else { ("", "  ") };
    let notes: String = comparison.notes.iter().map(|note| format!("{bullet}{note}\n")).collect();
    format!("\n{heading}{}\n\n{tables}{}{notes}", comparison.title, if notes.is_empty() { "" } else { "\n" })
}

/// What it all comes to.
pub fn summary(comparisons: &[PeerComparison], markdown: bool) -> String {
    let header = ["criterion", "on", "median (quartiles)", "target", ""];
    let findings = comparisons.iter().flat_map(|comparison| &comparison.findings);
    let rows: Vec<_> = findings
        .map(|finding| {
            let name = finding.name.to_owned();
            [name, finding.on.clone(), finding.value.clone(), finding.target.clone(), verdict(finding.met)]
        })
        .collect();
    let heading = if markdown { "## Summary" } else { "summary" };
    format!("\n{heading}\n\n{}", table(&header.map(str::to_owned), &rows, markdown))
}

fn cells(row: &BenchRow) -> [String; 6] {
    let what = row.what.clone();
    let target = row.target.map(|target| target.to_string()).unwrap_or_default();
    let met = if row.target.is_some() { verdict(row.met()) } else { String::new() };
    let Some(spread) = row.spread() else {
        return [what, "–".to_owned(), String::new(), String::new(), target, met];
    };
    let number = |value: f64| format!("{value:.*}", row.digits);
    let range = |low, high| format!("{} – {}", number(low), number(high));
    [
        what,
        number(spread.median),
        range(spread.lower_quartile, spread.upper_quartile),
        range(spread.min, spread.max),
        target,
        met,
    ]
}

fn verdict(met: Option<bool>) -> String {
    match met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "not told",
    }
    .to_owned()
}

fn table(header: &[String], rows: &[impl AsRef<[String]>], markdown: bool) -> String {
    let lines = || std::iter::once(header).chain(rows.iter().map(AsRef::as_ref));
    let width = |column: usize| lines().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let (open, between) = if markdown { ("| ", " | ") } else { ("", "  ") };
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let line = format!("{open}{}", padded.join(between));
        if markdown { format!("{line} |\n") } else { format!("{}\n", line.trim_end()) }
    };
    let dashes = |more: usize| widths.iter().map(move |width| "-".repeat(width + more)).collect::<Vec<_>>();
    let rule = match markdown {
        true => format!("|{}|\n", dashes(2).join("|")),
        false => format!("{}\n", dashes(0).join(between)),
    };
    line(header) + &rule + &rows.iter().map(|cells| line(cells.as_ref())).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_in_both_forms() {
        let (header, rows) = (["a", "b"].map(str::to_owned), [["µs", "1"].map(str::to_owned)]);
        assert_eq!(table(&header, &rows, false), "a   b\n--  -\nµs  1\n");
        assert_eq!(table(&header, &rows, true), "| a  | b |\n|----|---|\n| µs | 1 |\n");
    }
}
