//! Every path and item that a document names exists.
//!
//! Of a Markdown file this looks at its links and, outside its blocks of code, at what stands between backticks, which
//! may go on in the next line of a paragraph:
//! - a **link** leads from the folder of the document to a file or folder, or to another host. What follows `#` is the
//!   title of a section there, as forges write it;
//! - a **path** begins with a folder of the repository or the name of a crate, or ends like a folder or a file of ours. It
//!   exists if the path of a file or folder ends with it, `crates/` and `src/` written or not. In `rule/NAME.rs`, what
//!   stands before the word in capitals exists. The name of a file that Plimsoll writes stands in the code, quoted;
//! - an **item** is a word in camel case, or words with `::` between them. It exists if the path of an item ends with it.
//!
//! What a document shows in its own blocks of code, it may also name: it tells the reader to make it.

use std::collections::BTreeSet;

use crate::Finding;
use crate::items::{Declared, short};
use crate::tree::File;

/// How the names of files end that a document may name.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".json", ".txt", ".css", ".ts", ".mjs", ".yml", ".service", ".sh"];

/// All that a document can name.
pub struct Known {
    /// Paths of files and folders; those of crates also without `crates/` and `src/`.
    paths: Vec<String>,
    /// What a path of this repository begins with.
    folders: Vec<String>,
    /// Paths of items, each with `::` before it.
    items: Vec<String>,
    /// `docs/lab.md#a-quiet-machine` for each section of a document.
    sections: BTreeSet<String>,
    /// All Rust code, for the names of files that Plimsoll writes.
    code: String,
}

impl Known {
    pub fn new<'a>(files: &'a [File], declared: &[Declared], packages: impl Iterator<Item = &'a str>) -> Known {
        let mut paths = Vec::new();
        for file in files {
            for (end, _) in file.path.match_indices('/').chain([(file.path.len(), "")]) {
                let path = &file.path[..end];
                paths.push(path.to_owned());
                if let Some(inside) = path.strip_prefix("crates/") {
                    paths.push(inside.replacen("/src", "", 1));
                }
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let top = files.iter().filter_map(|file| Some(file.path.split_once('/')?.0));
        let folders = top.chain(packages.map(short)).map(str::to_owned).collect();
        let items = declared.iter().map(|declared| format!("::{}", declared.path.join("::"))).collect();
        let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
        let code = rust.filter_map(|file| file.text.as_deref()).collect();
        let sections = files.iter().flat_map(sections).collect();
        Known { paths, folders, items, sections, code }
    }

    /// Whether this target of a link in the document is there.
    fn has_target(&self, document: &str, target: &str) -> bool {
        let (file, section) = target.split_once('#').map_or((target, None), |(file, section)| (file, Some(section)));
        let path = if file.is_empty() { document.to_owned() } else { resolved(document, file) };
        let has = |section: &str| !path.ends_with(".md") || self.sections.contains(&format!("{path}#{section}"));
        self.paths.contains(&path) && section.is_none_or(has)
    }

    fn has_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.paths
            .iter()
            .any(|known| known.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
    }

    fn has_item(&self, item: &str) -> bool {
        let ending = format!("::{item}");
        self.items.iter().any(|known| known.ends_with(&ending))
    }

    fn is_path(&self, span: &str) -> bool {
        let first = span.split('/').next().unwrap_or_default();
        let begins = span.contains('/') && self.folders.iter().any(|folder| folder == first);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let ends = span.ends_with('/') || ENDINGS.iter().any(|ending| span.ends_with(ending));
        span.chars().all(is_name) && span.starts_with(|c: char| c.is_ascii_alphanumeric()) && (begins || ends)
    }

    /// Whether a path, or the folder before its word in capitals, is there; or Plimsoll writes a file of this name.
    fn leads_somewhere(&self, path: &str) -> bool {
        let is_capitals = |part: &&str| part.len() > 1 && part.chars().take(2).all(|c| c.is_ascii_uppercase());
        let before: Vec<&str> = path.split('/').take_while(|part| !is_capitals(part)).collect();
        let is_pattern = !before.is_empty() && before.len() < path.split('/').count();
        self.has_path(path)
            || (is_pattern && self.has_path(&before.join("/")))
            || self.code.contains(&format!("{}\"", path.trim_end_matches('/')))
    }
}

/// What the document names and nobody has.
pub fn check(document: &File, known: &Known) -> Vec<Finding> {
    let Some(text) = &document.text else { return Vec::new() };
    let (prose, shown) = prose_and_code(text);
    let mut findings = Vec::new();
    for Paragraph { line, text } in &prose {
        // Where in the paragraph, bytes.
        let mut missing = |what: &str, at: usize| {
            let number = line + text[..at].matches('\n').count();
            let place = format!("{}:{number}", document.path);
            findings.push(Finding::new(place, format!("names {what}, which does not exist")));
        };
        for (at, target) in links(text) {
            if !known.has_target(&document.path, target) {
                missing(target, at);
            }
        }
        for (at, span) in spans(text) {
            let span = span.split_whitespace().collect::<Vec<_>>().join(" ");
            let word = span.split(' ').next().unwrap_or_default();
            let item = span.split('(').next().unwrap_or_default();
            let is_missing_path = known.is_path(word) && !known.leads_somewhere(word);
            let is_missing_item = is_item(item) && !known.has_item(item);
            if (is_missing_path || is_missing_item) && !shown.contains(&span) {
                missing(span.as_str(), at);
            }
        }
    }
    findings
}

/// Lines within which a code span may go on in the next one.
struct Paragraph {
    /// The first, counted from 1.
    line: usize,
    text: String,
}

/// What stands outside blocks of code, and the text of these blocks.
fn prose_and_code(text: &str) -> (Vec<Paragraph>, String) {
    let (mut prose, mut code, mut is_code): (Vec<Paragraph>, _, _) = (Vec::new(), String::new(), false);
    let mut is_begun = false;
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_start().starts_with("```") {
            (is_code, is_begun) = (!is_code, false);
        } else if is_code {
            code.extend([text, "\n"]);
        } else {
            match prose.last_mut().filter(|_| is_begun && !begins_anew(text)) {
                Some(paragraph) => paragraph.text.extend(["\n", text]),
                None => prose.push(Paragraph { line, text: text.to_owned() }),
            }
            is_begun = !text.trim().is_empty() && !text.starts_with('#');
        }
    }
    (prose, code)
}

/// Whether the line is no more of the paragraph before it: an empty one, a title, a row of a table, an item of a list.
fn begins_anew(line: &str) -> bool {
    let line = line.trim_start();
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && after_number.starts_with(". ");
    line.is_empty() || is_numbered || ["#", "|", "- ", "* "].iter().any(|mark| line.starts_with(*mark))
}

/// What stands between backticks, with where that begins, bytes. A span ends with as many of them as it begins with.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('`') {
        let opened = &text[from + at..];
        let ticks = &opened[..opened.len() - opened.trim_start_matches('`').len()];
        let begin = from + at + ticks.len();
        match text[begin..].find(ticks) {
            Some(length) => {
                found.push((begin, &text[begin..begin + length]));
                from = begin + length + ticks.len();
            }
            None => from = begin,
        }
    }
    found
}

/// The targets of the links in a paragraph that lead into the repository, with where they stand, bytes:
/// `[words](target)`, and `[word]: target` on a line of its own.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let beside = text.match_indices("](").map(|(at, mark)| at + mark.len());
    let below = text.match_indices("]: ").map(|(at, mark)| at + mark.len()).filter(move |at| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        line.starts_with('[') && line.matches(']').count() == 1
    });
    let ends = |c: char| c == ')' || c.is_whitespace();
    let targets = beside.chain(below).map(move |at| (at, text[at..].split(ends).next().unwrap_or_default()));
    targets.filter(|(_, target)| !target.is_empty() && !target.contains("://"))
}

/// The sections of a document, as links name them: `docs/lab.md#a-quiet-machine`.
fn sections(document: &File) -> Vec<String> {
    let text = document.text.as_deref().filter(|_| document.path.ends_with(".md")).unwrap_or_default();
    let titles = prose_and_code(text).0.into_iter().filter(|paragraph| paragraph.text.starts_with('#'));
    titles.map(|title| format!("{}#{}", document.path, slug(&title.text))).collect()
}

/// A title as it stands in a link, as GitHub makes it of one that has no other of its name before it.
fn slug(title: &str) -> String {
    let title = title.lines().next().unwrap_or_default().trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where a link of this document leads, from the root of the repository.
fn resolved(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_item(span: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_camel_case = span.starts_with(|c: char| c.is_ascii_uppercase())
        && span.chars().any(|c| c.is_ascii_lowercase())
        && !span.contains('_');
    span.split("::").all(is_word) && (span.contains("::") || is_camel_case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items;
    use crate::source::SourceFile;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: Some(text.into()) }
    }

    fn findings(document: &str) -> Vec<String> {
        let code = "pub struct LabPlan;\nimpl LabPlan { pub fn read() { write(\"lab.json\"); } }\n";
        let [module, root] = [("crates/plan/src/lab/mod.rs", code), ("crates/plan/src/lib.rs", "pub mod lab;\n")];
        let sources = [module, root].map(|(path, text)| SourceFile::parse(path, text, false).unwrap());
        let declared = items::of_package("plimsoll-plan", &sources);
        let texts = [module, root, ("docs/a.md", document), ("docs/lab.md", "# Part\n"), ("docs/a.png", "")];
        let files = texts.map(|(path, text)| file(path, text));
        let known = Known::new(&files, &declared, ["plimsoll-plan"].into_iter());
        check(&file("docs/a.md", document), &known).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_or_item_that_is_not_there_is_found() {
        for name in [
            "crates/plan/src/lab/file.rs",
            "plan/lab/permission.rs",
            "plan/src/lub",
            "main.rs",
            "rule/",
            "plan/src/rule/NAME.rs",
            "README.md",
            "run.json",
            "docs/lib now",
            "plan::lab::Plan",
            "lab::LabPlan::write(text)",
            "Plan",
        ] {
            assert_eq!(
                findings(&format!("a\nsee `{name}`.")),
                [format!("docs/a.md:2: names {name}, which does not exist")]
            );
        }
        for (target, expected) in [
            ("lub.md", 1),
            ("../lab.md", 1),
            ("../docs", 0),
            ("lab.md#part", 0),
            ("lab.md#parts", 1),
            ("#see-it-now", 0),
            ("#see", 1),
            ("a.png#x", 0),
        ] {
            for link in [format!("[see]({target})"), format!("[see]: {target}")] {
                assert_eq!(findings(&format!("## See: it, `now`\n{link}")).len(), expected, "{link}");
            }
        }
    }

    #[test]
    fn a_span_may_go_on_in_the_next_line_of_its_paragraph_and_no_further() {
        let missing = |line: usize, name: &str| vec![format!("docs/a.md:{line}: names {name}, which does not exist")];
        assert_eq!(findings("a\nsee `docs/lib\nnow` and `LabPlan`."), missing(2, "docs/lib now"));
        assert_eq!(findings("a `b\nc` and Plan and `Plan`, `d`"), missing(2, "Plan"));
        assert_eq!(findings("- a ` b\n- `Plan`"), missing(2, "Plan"));
        assert_eq!(findings("| ` | b |\n| `Plan` | |"), missing(2, "Plan"));
        assert_eq!(findings("``a ` Plan ``, `Plan`"), missing(1, "Plan"));
        assert!(findings("1. a `b\n   Plan c` d\n\nPlan `e").is_empty());
    }

    #[test]
    fn what_is_there_and_what_is_no_name_of_ours_passes() {
        for name in [
            "crates/plan/src/lab/mod.rs",
            "plan/lab/mod.rs",
            "plan/src/lab",
            "lab/mod.rs",
            "lab/",
            "crates/plan/src/lab/NAME.rs",
            "docs/a.png",
            "lab.json",
            "plan::lab",
            "plan::lab::LabPlan::read(text)",
            "LabPlan",
            "8g/fsync",
            "/proc/stat",
            "<home>/io/",
            "NAME/with",
            "SHOW",
            "oltp_read_write",
            "--preset",
        ] {
            assert!(findings(&format!("see `{name}`.")).is_empty(), "{name}");
        }
        assert!(findings("[see](https://example.org/a.md)").is_empty());
        assert!(findings("make `Novelty`:\n```\nenum Novelty { `lib.rs` }\n```\n").is_empty());
    }
}
