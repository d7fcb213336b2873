//! Every table and every text, a line for each cell, in the tidy form that statistics programs and spreadsheets read.
//!
//! Lines end with CR LF, and fields are quoted where they have to be (RFC 4180). A text that a spreadsheet would take
//! for a formula begins with an apostrophe (OWASP, CSV Injection). A number that is missing is an empty field; what
//! stands below a table or a figure has a table of its own: `points-notes`, `figure-cpu-caption`.

use plimsoll_model::Caveat;
use plimsoll_model::layout::{clean, clean_lines};
use plimsoll_model::number::NOTHING;
use plimsoll_report::document::{Block, Document, Figure, Finding, Item, TitledTable};
use plimsoll_report::table::{Column, Table};

const HEAD: [&str; 9] = ["section", "table", "row", "column", "unit", "value", "low", "high", "confidence"];

pub(super) fn text(document: &Document) -> String {
    let mut csv = Csv { text: HEAD.join(",") + "\r\n", section: String::new() };
    let single = |text: &String| vec![vec![("text", text.clone())]];
    csv.rows("title", single(&document.title));
    csv.rows("answer", single(&document.answer));
    csv.rows("finding", document.findings.iter().map(finding).collect());
    csv.rows("fact", document.facts.iter().flat_map(single).collect());
    csv.rows("generated", single(&document.generated));
    for section in &document.sections {
        csv.section = section.id.clone();
        csv.blocks(&section.blocks);
    }
    csv.text
}

fn finding(finding: &Finding) -> Vec<(&'static str, String)> {
    let label = finding.label.clone().map(|label| ("label", label));
    label.into_iter().chain([("text", finding.text.clone())]).collect()
}

/// What has been written so far, and the current section.
struct Csv {
    text: String,
    section: String,
}

impl Csv {
    /// Blocks without a name are numbered within their section, so that no two lines are about the same cell.
    fn blocks(&mut self, blocks: &[Block]) {
        let name = |kind: &str, at: usize| format!("{kind}-{}", at + 1);
        for (at, block) in blocks.iter().enumerate() {
            let one = |column: &'static str, text: &str| vec![vec![(column, text.to_owned())]];
            match block {
                Block::Subheading(text) => self.rows(&name("subheading", at), one("text", text)),
                Block::Paragraph(text) => self.rows(&name("paragraph", at), one("text", text)),
                Block::Lead { lead, text } => {
                    self.rows(&name("lead", at), vec![vec![("lead", lead.clone()), ("text", text.clone())]])
                }
                Block::Remark(text) => self.rows(&name("remark", at), one("text", text)),
                Block::Listing(text) => self.rows(&name("listing", at), one("text", text)),
                Block::List(items) => {
                    let row = |item: &Item| {
                        let small = item.small.clone().map(|small| ("small", small));
                        [("text", item.text.clone())].into_iter().chain(small).collect()
                    };
                    self.rows(&name("list", at), items.iter().map(row).collect());
                }
                Block::Pairs(pairs) => {
                    let row = |(name, value): &(String, String)| vec![("name", name.clone()), ("value", value.clone())];
                    self.rows(&name("pairs", at), pairs.iter().map(row).collect());
                }
                Block::Caveats(caveats) => {
                    let row =
                        |caveat: &Caveat| vec![("code", caveat.code.clone()), ("message", caveat.message.clone())];
                    self.rows(&name("caveats", at), caveats.iter().map(row).collect());
                }
                Block::Table(table) | Block::Folded { table, .. } => self.titled(table),
                Block::Figure(figure) => self.figure(figure),
            }
        }
    }

    fn figure(&mut self, figure: &Figure) {
        let name = figure.anchor();
        self.rows(&format!("{name}-caption"), vec![vec![("text", figure.caption.clone())]]);
        self.titled(&TitledTable { name, table: figure.table.clone(), remarks: Vec::new() });
    }

    fn titled(&mut self, of: &TitledTable) {
        self.table(&of.name, &of.table);
        let notes = of.notes().into_iter().map(|note| vec![("text", note)]);
        self.rows(&format!("{}-notes", of.name), notes.collect());
    }

    /// Texts by row and column.
    fn rows(&mut self, table: &str, rows: Vec<Vec<(&str, String)>>) {
        for (row, cells) in rows.iter().enumerate() {
            for (column, text) in cells {
                self.line([table, &(row + 1).to_string(), column, "", text, "", "", ""]);
            }
        }
    }

    fn table(&mut self, name: &str, table: &Table) {
        for row in 0..table.rows() {
            let place = (row + 1).to_string();
            for column in &table.columns {
                self.cell(name, &place, column, row);
            }
            if let Some(mark) = table.mark(row) {
                self.line([name, &place, "mark", "", mark.name(), "", "", ""]);
            }
        }
    }

    fn cell(&mut self, table: &str, place: &str, column: &Column, row: usize) {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let shown = Some(&column.cells[row]).filter(|cell| *cell != NOTHING).cloned().unwrap_or_default();
        let value = column.value(row).map_or(shown, |value| value.to_string());
        let (low, high) = column.ends(row);
        let confidence = column.of.get(row).and_then(|measured| measured.estimate.as_ref()).map(|of| of.confidence);
        let confidence = number(confidence.filter(|_| low.or(high).is_some()));
        self.line([table, place, &column.name, &column.unit, &value, &number(low), &number(high), &confidence]);
    }

    fn line(&mut self, fields: [&str; 8]) {
        let fields: Vec<String> = [self.section.as_str()].into_iter().chain(fields).map(field).collect();
        self.text.push_str(&(fields.join(",") + "\r\n"));
    }
}

/// A field, quoted if it has to be.
fn field(text: &str) -> String {
    let is_number = clean(text) == text && text.parse::<f64>().is_ok_and(f64::is_finite);
    let text = clean_lines(text);
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let text = if is_formula && !is_number { format!("'{text}") } else { text };
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        for (text, written) in [
            ("plain", "plain"),
            ("-12.5", "-12.5"),
            ("1e-7", "1e-7"),
            ("=1+1", "'=1+1"),
            ("-inf", "'-inf"),
            ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("\u{200b}=1", "'=1"),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("one\ntwo", "\"one\ntwo\""),
        ] {
            assert_eq!(field(text), written, "{text:?}");
        }
    }
}
