//! Every path and item that a document names exists.
//!
//! Of a Markdown file this looks at its links and, outside its blocks of code, at what stands between backticks:
//! - a **link** leads from the folder of the document to a file or folder, or to another host;
//! - a **path** begins with a folder of the repository or the name of a crate, or ends like a folder or a file of ours. It
//!   exists if the path of a file or folder ends with it, `crates/` and `src/` written or not. In `rule/NAME.rs`, what
//!   stands before the word in capitals exists. The name of a file that Plimsoll writes stands in the code, quoted;
//! - an **item** is a word in camel case, or words with `::` between them. It exists if the path of an item ends with it.
//!
//! What a document shows in its own blocks of code, it may also name: it tells the reader to make it.

use crate::Finding;
use crate::items::{Declared, short};
use crate::tree::File;

/// How the names of files end that a document may name.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".json", ".txt", ".css", ".ts"];

/// All that a document can name.
pub struct Known {
    /// Paths of files and folders; those of crates also without `crates/` and `src/`.
    paths: Vec<String>,
    /// What a path of this repository begins with.
    folders: Vec<String>,
    /// Paths of items, each with `::` before it.
    items: Vec<String>,
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
        Known { paths, folders, items, code: rust.filter_map(|file| file.text.as_deref()).collect() }
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
    for (number, line) in prose {
        let mut missing = |what: &str| {
            let place = format!("{}:{number}", document.path);
            findings.push(Finding::new(place, format!("names {what}, which does not exist")));
        };
        for target in links(line).filter(|target| !known.paths.contains(&resolved(&document.path, target))) {
            missing(target);
        }
        for span in line.split('`').skip(1).step_by(2).filter(|span| !shown.contains(*span)) {
            let word = span.split(' ').next().unwrap_or_default();
            let item = span.split('(').next().unwrap_or_default();
            let is_missing_path = known.is_path(word) && !known.leads_somewhere(word);
            let is_missing_item = is_item(item) && !known.has_item(item);
            if is_missing_path || is_missing_item {
                missing(span);
            }
        }
    }
    findings
}

/// The lines outside blocks of code, counted from 1, and the text of these blocks.
fn prose_and_code(text: &str) -> (Vec<(usize, &str)>, String) {
    let (mut prose, mut code, mut is_code) = (Vec::new(), String::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            code.extend([line, "\n"]);
        } else {
            prose.push((at + 1, line));
        }
    }
    (prose, code)
}

/// The targets of the links in a line that lead into the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://"))
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
        let files = [file(module.0, code), file(root.0, root.1), file("docs/lab.md", ""), file("docs/a.png", "")];
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
        for target in ["lub.md", "../lab.md", "../docs", "lab.md#part"] {
            let expected = usize::from(target.starts_with("lub") || target == "../lab.md");
            assert_eq!(findings(&format!("[see]({target})")).len(), expected, "{target}");
        }
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
