//! The commands that a document shows: in fenced blocks, in code spans, in comments of plans.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A code span that begins with one of these is a command.
const PROGRAMS: [&str; 4] = ["plimsoll", "plimsoll-bench", "make", "cargo"];
/// Languages of fenced blocks in which nobody types commands. All others, and none at all, have commands in each line.
const OTHER_LANGUAGES: [&str; 7] = ["toml", "json", "sql", "text", "lua", "cnf", "slurm"];
/// Languages of blocks that are whole files if their first line is a comment that begins with the file's name.
const OF_FILES: [(&str, &str); 3] = [("toml", "# "), ("lua", "-- "), ("cnf", "# ")];

/// What somebody who reads a document may type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// From the root of the repository.
    pub document: String,
    /// From 1.
    pub line: usize,
    /// Without its comments; several lines where the shell needs them together.
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository is there")
}

/// README, docs/ and plans/, as their directories list them.
pub fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    for directory in ["docs", "docs/design", "plans"] {
        let entries = fs::read_dir(root().join(directory)).expect("a directory of the repository");
        let mut names: Vec<String> = entries.flatten().map(|entry| entry.file_name().display().to_string()).collect();
        names.sort();
        names.retain(|name| name.ends_with(".md") || name.ends_with(".toml"));
        found.extend(names.into_iter().map(|name| format!("{directory}/{name}")));
    }
    found
}

/// The commands of a document of the repository, in order.
pub fn commands_of(document: &str) -> Vec<Typed> {
    commands_in(document, &fs::read_to_string(root().join(document)).expect("a document of the repository"))
}

/// The commands in this text, in order; what stands there twice is found once.
pub fn commands_in(document: &str, text: &str) -> Vec<Typed> {
    let mut reader = Reader { document, found: Vec::new(), prose: Vec::new(), block: Vec::new() };
    match document.ends_with(".toml") {
        true => reader.read_plan(text),
        false => reader.read_markdown(text),
    }
    let mut found: Vec<Typed> = Vec::new();
    for typed in reader.found {
        if found.iter().all(|other| other.text != typed.text) {
            found.push(typed);
        }
    }
    found
}

/// Plans, scripts and option files that documents show: a fenced block whose first line is `# NAME.toml: …` or `-- NAME.lua: …`; name and
/// text.
pub fn files_shown() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for document in documents().iter().filter(|document| document.ends_with(".md")) {
        let text = fs::read_to_string(root().join(document)).expect("a document of the repository");
        for (language, comment) in OF_FILES {
            let fence = format!("```{language}\n");
            let blocks = text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next());
            let named = |block: &str| {
                let name = block.strip_prefix(comment)?.split(':').next()?.to_owned();
                name.ends_with(language).then(|| (name, format!("{block}\n")))
            };
            found.extend(blocks.filter_map(named));
        }
    }
    found
}

struct Reader<'a> {
    document: &'a str,
    found: Vec<Typed>,
    /// Lines of one paragraph, with their numbers.
    prose: Vec<(usize, String)>,
    /// Lines of one block of commands, likewise.
    block: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn read_markdown(&mut self, text: &str) {
        let mut fence: Option<&str> = None;
        for (number, line) in (1..).zip(text.lines()) {
            match (fence, line.trim_start().strip_prefix("```")) {
                (None, Some(language)) => fence = Some(language.trim()),
                (Some(_), Some(_)) => fence = None,
                (Some(language), None) if OTHER_LANGUAGES.contains(&language) => {}
                // The steps of a workflow.
                (Some("yaml"), None) => {
                    if let Some(step) = line.trim_start().strip_prefix("- run: ") {
                        self.block.push((number, step.to_owned()));
                    }
                    continue;
                }
                (Some(_), None) => {
                    self.end_paragraph();
                    self.block.push((number, line.to_owned()));
                    continue;
                }
                (None, None) => {
                    // A span does not go beyond a row of a table.
                    if line.trim().is_empty() || line.starts_with('|') {
                        self.end_paragraph();
                    }
                    self.prose.push((number, line.to_owned()));
                }
            }
            self.end_block();
        }
        self.end_block();
        self.end_paragraph();
    }

    /// In comments, three spaces make a line of commands, as in the plans' heads.
    fn read_plan(&mut self, text: &str) {
        for (number, line) in (1..).zip(text.lines()) {
            match line.strip_prefix('#') {
                Some(comment) if comment.starts_with("   ") => {
                    self.end_paragraph();
                    self.block.push((number, comment.trim().to_owned()));
                }
                Some(comment) => {
                    self.end_block();
                    self.prose.push((number, comment.to_owned()));
                }
                None => {
                    self.end_block();
                    self.end_paragraph();
                }
            }
        }
        self.end_block();
        self.end_paragraph();
    }

    fn take(&mut self, line: usize, text: &str) {
        self.found.push(Typed { document: self.document.to_owned(), line, text: text.to_owned() });
    }

    /// Takes each line, or those that the shell needs together; comments are prose.
    fn end_block(&mut self) {
        let mut pending: Option<(usize, String)> = None;
        for (number, line) in std::mem::take(&mut self.block) {
            let (code, comment) = split_comment(&line);
            self.take_spans(&[(number, comment.to_owned())]);
            pending = match pending {
                Some((begun, text)) => Some((begun, format!("{text}\n{code}"))),
                None if code.trim().is_empty() => continue,
                None => Some((number, code.to_owned())),
            };
            if let Some((begun, text)) = pending.take_if(|(_, text)| is_complete(text)) {
                self.take(begun, text.trim());
            }
        }
        if let Some((begun, text)) = pending {
            self.take(begun, text.trim());
        }
    }

    fn end_paragraph(&mut self) {
        let prose = std::mem::take(&mut self.prose);
        self.take_spans(&prose);
    }

    /// Takes the commands among the code spans of a paragraph.
    fn take_spans(&mut self, prose: &[(usize, String)]) {
        let text = prose.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
        let mut rest = text.as_str();
        while let Some(at) = rest.find('`') {
            let opened = &rest[at..];
            let ticks = &opened[..opened.len() - opened.trim_start_matches('`').len()];
            let content = &opened[ticks.len()..];
            let Some(end) = content.find(ticks) else { return };
            let line = prose[0].0 + text[..text.len() - content.len()].matches('\n').count();
            for command in alternatives(&content[..end].split_whitespace().collect::<Vec<_>>()) {
                self.take(line, &command);
            }
            rest = &content[end + ticks.len()..];
        }
    }
}

/// The commands that a code span stands for: `server start|stop` for two, one that names no program for none.
fn alternatives(words: &[&str]) -> Vec<String> {
    let is_command = words.len() > 1 && (PROGRAMS.contains(&words[0]) || words[0].starts_with("scripts/"));
    let Some(choice) = words.iter().position(|word| word.contains('|')).filter(|_| is_command) else {
        return is_command.then(|| words.join(" ")).into_iter().collect();
    };
    let with = |chosen| [&words[..choice], &[chosen], &words[choice + 1..]].concat().join(" ");
    words[choice].split('|').map(with).collect()
}

/// Code and comment of a line of the shell.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return (line[..at].trim_end(), &line[at..]),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    (line.trim_end(), "")
}

/// Whether the shell waits for no further line.
fn is_complete(text: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-n", "-c", text]).stderr(Stdio::null());
    !text.ends_with('\\') && shell.status().expect("there is a shell").success()
}

#[test]
fn commands_are_found_wherever_they_stand() {
    let text = "# A title\nType `make test`, or\n`plimsoll server\nstart|stop`; not `plimsoll`, `SELECT 1`.\n\
                ```\nfor i in 1 2; do\n    plimsoll run a --name x \\\n        --seed $i   # a loop: `plimsoll drop a`\n\
                done\nfrobnicate '# no comment'\n```\n```toml\nx = `plimsoll no`\n```\n| ` | `plimsoll a` |\n\
                ```sh\nplimsoll b\n```\n";
    let found = commands_in("x.md", text);
    let found: Vec<(usize, &str)> = found.iter().map(|typed| (typed.line, typed.text.as_str())).collect();
    let expected = [
        (2, "make test"),
        (3, "plimsoll server start"),
        (3, "plimsoll server stop"),
        (8, "plimsoll drop a"),
        (6, "for i in 1 2; do\n    plimsoll run a --name x \\\n        --seed $i\ndone"),
        (10, "frobnicate '# no comment'"),
        (15, "plimsoll a"),
        (17, "plimsoll b"),
    ];
    assert_eq!(found[..6], expected[..6]);
    assert_eq!(found.last(), expected.last());
    let plan = "# About:\n#   plimsoll lab a.toml\n#   plimsoll lab b.toml   # `make all`\n#\n# and `plimsoll\n# io x`.\n\
                a = 1\n";
    let found: Vec<(usize, String)> =
        commands_in("x.toml", plan).into_iter().map(|typed| (typed.line, typed.text)).collect();
    let expected = [(2, "plimsoll lab a.toml"), (3, "make all"), (3, "plimsoll lab b.toml"), (5, "plimsoll io x")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
}
