//! The document as GitHub Flavored Markdown: figures as the tables behind them.

use plimsoll_model::Caveat;
use plimsoll_model::layout::{clean, clean_lines};
use plimsoll_model::number::NOTHING;
use plimsoll_report::document::{Block, Document, Figure, Finding, Item, Section, TitledTable};
use plimsoll_report::table::{Column, Mark, Table};

pub(super) fn text(document: &Document) -> String {
    let mut blocks = vec![format!("# {}", inline(&document.title)), format!("**{}**", inline(&document.answer))];
    blocks.push(document.findings.iter().map(finding).collect::<Vec<_>>().join("\n"));
    blocks.push(document.facts.iter().map(|fact| inline(fact)).collect::<Vec<_>>().join(" · "));
    blocks.extend(document.sections.iter().flat_map(section));
    blocks.push("---".to_owned());
    blocks.push(line(&document.generated));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

fn section(section: &Section) -> Vec<String> {
    let heading = format!("## {}", inline(&section.heading));
    [heading].into_iter().chain(section.blocks.iter().map(block)).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Subheading(text) => format!("### {}", inline(text)),
        Block::Paragraph(text) | Block::Remark(text) => line(text),
        Block::Lead { lead, text } => format!("**{}** {}", inline(lead), inline(text)),
        Block::List(items) => items.iter().map(item).collect::<Vec<_>>().join("\n"),
        Block::Pairs(pairs) => self::pairs(pairs),
        Block::Table(table) => titled(table),
        Block::Folded { words, table } => format!("**{}**\n\n{}", inline(words), titled(table)),
        Block::Figure(figure) => self::figure(figure),
        Block::Listing(text) => listing(text),
        Block::Caveats(caveats) => self::caveats(caveats),
    }
}

fn finding(finding: &Finding) -> String {
    match &finding.label {
        Some(label) => format!("- **{}:** {}", inline(label), inline(&finding.text)),
        None => format!("- {}", line(&finding.text)),
    }
}

fn item(item: &Item) -> String {
    let small = item.small.as_ref().map_or(String::new(), |small| format!(" ({})", inline(small)));
    match item.warning {
        true => format!("- **{}**{small}", inline(&item.text)),
        false => format!("- {}{small}", line(&item.text)),
    }
}

fn pairs(pairs: &[(String, String)]) -> String {
    let rows = pairs.iter().map(|(name, value)| format!("| {} | {} |\n", inline(name), inline(value)));
    format!("| | |\n|:--|:--|\n{}", rows.collect::<String>()).trim_end().to_owned()
}

fn caveats(caveats: &[Caveat]) -> String {
    let item = |caveat: &Caveat| format!("- {} ({})", line(&caveat.message), inline(&caveat.code));
    match caveats {
        [] => "None were found.".to_owned(),
        _ => caveats.iter().map(item).collect::<Vec<_>>().join("\n"),
    }
}

fn figure(figure: &Figure) -> String {
    let behind = TitledTable { name: figure.id.clone(), table: figure.table.clone(), remarks: Vec::new() };
    let caption = inline(&figure.caption);
    match (caption.is_empty(), figure.table.rows()) {
        (_, 0) => caption,
        (true, _) => titled(&behind),
        (false, _) => format!("{}\n\n*{caption}*", titled(&behind)),
    }
}

fn titled(of: &TitledTable) -> String {
    let notes = of.notes();
    match notes.as_slice() {
        [] => table(&of.table),
        notes => format!("{}\n\n{}", table(&of.table), line(&notes.join(" "))),
    }
}

fn table(table: &Table) -> String {
    let row = |cells: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> = table.columns.iter().map(cells).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut rows = vec![row(&head)];
    rows.push(row(&|column| if column.is_number { "--:" } else { ":--" }.to_owned()));
    rows.extend((0..table.rows()).map(|at| {
        let tag = table.mark(at).and_then(Mark::tag).map_or(String::new(), |tag| format!("{tag}: "));
        format!("| {tag}{}", row(&|column| cell(column, at)).trim_start_matches("| "))
    }));
    rows.join("\n")
}

fn head(column: &Column) -> String {
    match column.unit.as_str() {
        "" => inline(&column.name),
        unit => format!("{}, {}", inline(&column.name), inline(unit)),
    }
}

/// A cell with its interval, if that is known.
fn cell(column: &Column, row: usize) -> String {
    let shown = inline(&column.cells[row]);
    match column.shown_spreads().get(row).map(|spread| spread.text.as_str()) {
        None | Some("" | NOTHING) => shown,
        Some(text) if text.starts_with('±') => format!("{shown} {text}"),
        Some(text) => format!("{shown} ({text})"),
    }
}

/// A block of code, fenced by more backticks than it has.
fn listing(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}text\n{}\n{fence}", clean_lines(text))
}

/// A text at the beginning of a line, where a number or a dash would start a list.
fn line(text: &str) -> String {
    let text = inline(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.as_bytes().get(digits) {
        Some(b'-' | b'+' | b'=') if digits == 0 => format!("\\{text}"),
        Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}

/// A text on one line, with nothing that could be taken for markup (GitHub Flavored Markdown Spec 0.29, sections 2.4,
/// 6.1, 6.9).
fn inline(text: &str) -> String {
    let text = clean(text);
    let text = text.trim();
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let is_within_word = |of: &str| {
            let before = of[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            before && rest.chars().next().is_some_and(char::is_alphanumeric)
        };
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            // Within a word it is a letter like any other.
            '_' if is_within_word(text) => shown.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => shown.extend(['\\', c]),
            // Addresses would become links.
            ':' if rest.starts_with("//") => shown.push_str("\\:"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => shown.push_str("\\."),
            '@' => shown.push_str("&#64;"),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_not_obeyed() {
        for (text, shown) in [
            ("oltp_read_write at 8 connections", "oltp_read_write at 8 connections"),
            ("_a_ *b* `c` [d](e) ![f] ~g~ a|b #h", "\\_a\\_ \\*b\\* \\`c\\` \\[d\\](e) \\!\\[f\\] \\~g\\~ a\\|b \\#h"),
            ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
            ("see https://x.y and www.z", "see https\\://x.y and www\\.z"),
            ("a\nb\u{202e}\u{1b}[1m", "a b\\[1m"),
        ] {
            assert_eq!(inline(text), shown);
        }
        assert_eq!(line("- not a list"), "\\- not a list");
        assert_eq!(line("1. nor this"), "1\\. nor this");
        assert_eq!(line("981 per second"), "981 per second");
        assert_eq!(listing("```\nx"), "````text\n```\nx\n````");
    }
}
