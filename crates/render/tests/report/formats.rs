//! Every format shows the same content, and none obeys a hostile text.

use crate::sample;
use plimsoll_model::Caveat;
use plimsoll_model::text::is_unfit;
use plimsoll_render::{Format, fragment, render};
use plimsoll_report::document::{
    Axis, Band, Block, Chart, ChartLine, ChartPanel, Document, Figure, Finding, Item, NamedPlace, PlaceKind, Section,
    TitledTable,
};
use plimsoll_report::svg::Svg;
use plimsoll_report::table::{Column, Mark, Table};
use roxmltree::ParsingOptions;
use serde_json::Value;

const EVIL: &str = "=1+1|`</script></style>]]><b onload='x'>\"\u{1b}[2J\u{202e}\u{2028}\u{0}\r\n# ![x](https://evil.example) \
                    ```\n@SUM(A1),\u{feff}\u{202a}\u{202b}\u{202d}\u{202c}\u{2066}\u{2067}\u{2068}\u{2069}\
                    \u{200e}\u{200f}\u{61c}\u{2029}\u{200b}\u{200d}\u{9b}\u{7f} שלום مرحبا e\u{301}";

fn shown(document: &Document, format: Format<'_>) -> String {
    let text = render(document, format).expect("the figure is there");
    assert!(text.ends_with('\n'), "{format:?}");
    // A page keeps numbers and their words on one line with the last.
    let steers = |c: char| is_unfit(c) && !matches!(c, '\n' | '\r' | '\u{2060}');
    assert!(!text.contains(steers), "{format:?} has characters that steer");
    text
}

/// A document whose every text is hostile.
fn hostile() -> Document {
    let evil = || EVIL.to_owned();
    let table = || {
        let numbers = Column::numbers(EVIL, EVIL, vec![evil(), "1,234.5".to_owned()]);
        Table { columns: vec![Column::words(EVIL, vec![evil(), evil()]), numbers], marks: vec![Some(Mark::Differs)] }
    };
    let mut svg = Svg::new(100.0, 50.0, EVIL);
    svg.text((1.0, 2.0), plimsoll_report::svg::Anchor::Start, "tick", EVIL);
    let axis = || Axis { title: evil(), unit: evil(), logarithmic: false };
    let line = ChartLine { name: evil(), class: "s1".to_owned(), values: vec![Some(f64::NAN)], ..ChartLine::default() };
    let chart = Chart {
        x: axis(),
        at: vec![1.0],
        panels: vec![ChartPanel { y: axis(), lines: vec![line] }],
        bands: vec![Band { from: 0.0, to: 1.0, name: evil(), measured: true }],
        marks: vec![NamedPlace { x: 1.0, y: 1.0, name: evil(), kind: PlaceKind::Knee }],
        small_print: evil(),
    };
    let figure = Figure {
        id: "evil".to_owned(),
        svg: svg.finish(),
        narrow: None,
        caption: evil(),
        table: table(),
        chart: Some(chart),
    };
    let blocks = vec![
        Block::Subheading(evil()),
        Block::Paragraph(evil()),
        Block::Lead { lead: evil(), text: evil() },
        Block::Remark(evil()),
        Block::List(vec![Item { text: evil(), small: Some(evil()), warning: true }, Item::of(EVIL)]),
        Block::Pairs(vec![(evil(), evil())]),
        Block::Table(TitledTable { name: evil(), table: table(), remarks: vec![evil()] }),
        Block::Figure(figure),
        Block::Listing(evil()),
        Block::Caveats(vec![Caveat { code: evil(), message: evil() }]),
    ];
    Document {
        title: evil(),
        answer: evil(),
        findings: vec![Finding::of(EVIL), Finding::labelled(EVIL, EVIL)],
        facts: vec![evil()],
        sections: vec![Section { id: evil(), heading: evil(), found: evil(), blocks }],
        generated: evil(),
        data: serde_json::json!({EVIL: [EVIL]}),
    }
}

#[test]
fn a_page_shows_it_and_stays_well_formed() {
    let page = shown(&hostile(), Format::Html);
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let parsed = roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
    assert!(parsed.descendants().all(|node| !node.has_tag_name("b") || node.attributes().len() == 0));
    assert!(parsed.descendants().all(|node| !node.has_tag_name("img")));
    let chart = parsed.descendants().find(|node| node.attribute("class") == Some("chart")).expect("a chart");
    let chart: Value = serde_json::from_str(chart.text().expect("data")).expect("JSON");
    assert_eq!(chart["panels"][0]["lines"][0]["values"][0], Value::Null, "what is no number is none");
    assert!(chart["x"]["title"].as_str().is_some_and(|title| title.starts_with("=1+1|`</script>")), "{chart}");
    assert!(fragment(&hostile()).starts_with("<header>") && page.contains(&fragment(&hostile())));
}

#[test]
fn every_format_shows_what_people_write() {
    for format in [Format::Html, Format::Markdown, Format::Json, Format::Csv, Format::Svg(None)] {
        assert!(shown(&hostile(), format).contains("שלום مرحبا e\u{301}"), "{format:?}");
    }
}

#[test]
fn a_page_allows_its_own_script_and_nothing_else() {
    let page = shown(&hostile(), Format::Html);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).and_then(|rest| rest.split('"').next());
    let policy = policy.expect("a policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"), "{policy}");
    assert!(!policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe-eval"), "{policy}");
    assert_eq!(page.contains("<script>"), policy.contains("script-src 'sha256-"), "a bundle and its hash go together");
}

#[test]
fn markdown_has_no_markup_but_its_own() {
    let text = shown(&hostile(), Format::Markdown);
    let prose = text.replace(&fenced(&text), "");
    for markup in ["<b", "</script", "](https", "https://", "`", "\n# !", "\n@SUM"] {
        assert!(!prose.replace("\\]", "").replace("\\`", "").contains(markup), "{markup} in {text}");
    }
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| bars(row) == 3), "two columns each: {rows:?}");
    assert!(fenced(&text).starts_with("````text\n=1+1"), "the fence is longer than what it holds");
}

/// The block of code.
fn fenced(text: &str) -> String {
    let begin = text.find("````text").expect("a fence");
    let end = text[begin + 8..].find("\n````").expect("its end");
    text[begin..begin + 8 + end + 5].to_owned()
}

#[test]
fn json_is_one_document_that_can_stand_anywhere() {
    let text = shown(&hostile(), Format::Json);
    assert!(!text.contains(['<', '>', '&']));
    let value: Value = serde_json::from_str(&text).expect("one document");
    assert_eq!(value["schema_version"], 1);
    assert_eq!(value["sections"][0]["blocks"].as_array().map(Vec::len), Some(10));
    let numbers = &value["sections"][0]["blocks"][6]["table"]["columns"][1]["cells"];
    assert_eq!((&numbers[1]["value"], numbers[0].get("value")), (&1234.5.into(), None));
}

#[test]
fn csv_has_no_formula_and_every_line_its_fields() {
    let text = shown(&hostile(), Format::Csv);
    let records = records(&text);
    assert_eq!(records[0], ["section", "table", "row", "column", "unit", "value", "low", "high", "confidence"]);
    for record in &records {
        assert_eq!(record.len(), 9, "{record:?}");
        let formula = record.iter().find(|field| field.trim_start().starts_with(['=', '+', '-', '@']));
        assert_eq!(formula, None, "{record:?}");
    }
    let number = records.iter().find(|record| record[5] == "1234.5");
    assert!(number.is_some(), "numbers are raw");
}

/// A text by RFC 4180.
pub fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut letters) = (false, text.chars().peekable());
    while let Some(c) = letters.next() {
        match c {
            '"' if is_quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    records
}

#[test]
fn one_figure_is_a_file_and_a_wrong_name_is_told_the_right_ones() {
    for id in [None, Some("evil")] {
        let svg = shown(&hostile(), Format::Svg(id));
        let parsed = roxmltree::Document::parse(&svg).expect("well-formed");
        assert_eq!(parsed.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
        assert!(svg.contains("<style>") && !svg.contains("<script"));
    }
    let error = render(&hostile(), Format::Svg(Some(EVIL))).unwrap_err().to_string();
    assert!(error.ends_with("; there are: evil") && !error.contains('\u{1b}'), "{error}");
    assert!(render(&Document::default(), Format::Svg(None)).is_err(), "without a figure there is none");
}

#[test]
fn all_formats_tell_the_same() {
    let document = plimsoll_report::document(&sample::report().recorded());
    let texts = [Format::Html, Format::Markdown, Format::Json, Format::Csv].map(|format| shown(&document, format));
    for text in texts {
        let text = text.replace(['\u{a0}', '\u{2060}'], if text.starts_with("<!") { " " } else { "" });
        for told in
            ["981 transactions per second at most", "quickstart", "innodb_flush_log_at_trx_commit", "shared_cores"]
        {
            assert!(text.contains(told), "{told}");
        }
    }
    let value: Value = serde_json::from_str(&shown(&document, Format::Json)).expect("JSON");
    assert_eq!(value["data"]["summary"]["points"][5]["connections"], 32);
    assert_eq!(value["data"]["trials"][5]["diagnosis"]["verdict"]["limited"], "cpu");
    assert!(document.figures().count() >= 3);
    for figure in document.figures() {
        assert!(figure.table.rows() > 0 && !figure.caption.is_empty(), "{} has numbers and words", figure.id);
        shown(&document, Format::Svg(Some(&figure.id)));
    }
}

#[test]
fn the_first_screen_says_how_much_where_why_and_how_sure() {
    let document = plimsoll_report::document(&sample::report().recorded());
    let findings: Vec<String> = document.findings.iter().map(ToString::to_string).collect();
    let first = format!("{} {}", document.answer, findings.join(" "));
    for told in
        ["981 transactions per second", "at 32 connections", "limited by the server’s CPU", "95 % interval 960 – 1,002"]
    {
        assert!(first.contains(told), "{told} in {first}");
    }
}
