//! Advice: the one thing to do first, then six steps with what was found in each.

use plimsoll_model::advice::{Advice, AdviceFinding, AdviceStep, Severity};
use plimsoll_model::layout::clean;
use plimsoll_report::document::{Block, Document, Item, Section};
use plimsoll_report::table::{Column, Mark, Table};
use plimsoll_report::terminal::{BOLD, DIM, TextLook};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What stands below a finding that no server confirmed.
const FROM_DOCUMENTATION: &str = "from documentation";

/// The report of advice. `generated` says when and by what.
pub fn document(advice: &Advice, generated: &str) -> Document {
    let names = short_names(advice);
    let steps = AdviceStep::ALL.into_iter().filter_map(|step| section(advice, step, &names));
    let seen = [
        Section::of("looked-at", "Looked at", vec![Block::List(items(&advice.looked_at))]),
        Section::of("unseen", "Not seen", vec![Block::List(items(&advice.unseen))]),
    ];
    Document {
        title: format!("Advice: {}", advice.about),
        answer: advice.answer.clone(),
        findings: Vec::new(),
        facts: vec![counts(advice.findings.iter())],
        sections: steps.chain(seen.into_iter().flatten()).collect(),
        generated: generated.to_owned(),
        data: serde_json::json!(data(advice)),
    }
}

/// The advice as data, as `--json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceDocument<'a> {
    schema_version: u32,
    about: &'a str,
    answer: &'a str,
    steps: Vec<StepFound<'a>>,
    looked_at: &'a [String],
    unseen: &'a [String],
}

/// A step with its findings.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct StepFound<'a> {
    number: usize,
    name: &'static str,
    seen: bool,
    findings: Vec<&'a AdviceFinding>,
}

/// The same as data: the steps with their findings.
pub fn data(advice: &Advice) -> AdviceDocument<'_> {
    let step = |step: AdviceStep| StepFound {
        number: step.number(),
        name: step.words(),
        seen: advice.steps_seen.contains(&step),
        findings: advice.of_step(step).collect(),
    };
    AdviceDocument {
        schema_version: 1,
        about: &advice.about,
        answer: &advice.answer,
        steps: AdviceStep::ALL.into_iter().map(step).collect(),
        looked_at: &advice.looked_at,
        unseen: &advice.unseen,
    }
}

fn items(texts: &[String]) -> Vec<Item> {
    texts.iter().map(Item::of).collect()
}

fn section(advice: &Advice, step: AdviceStep, names: &BTreeMap<&str, &str>) -> Option<Section> {
    let findings: Vec<&AdviceFinding> = advice.of_step(step).collect();
    let heading = format!("{}. {}", step.number(), step.words());
    let blocks = match findings.is_empty() {
        true => vec![Block::paragraph(nothing(advice, step))],
        false => vec![
            Block::List(findings.iter().map(|finding| item(finding, names)).collect()),
            Block::folded("The same as a table", "findings", table(&findings)),
        ],
    };
    let found = found(advice, step);
    Section::of(&format!("step-{}", step.number()), &heading, blocks).map(|section| section.found(found))
}

/// A finding as a line of a list, and what it rests on.
fn item(finding: &AdviceFinding, names: &BTreeMap<&str, &str>) -> Item {
    let shows = finding.shows.iter().map(|shows| format!(" How to see it: {shows}."));
    let measured = finding.measured.iter().map(|_| format!("Measured: {}. ", measured(finding)));
    Item {
        text: format!("{}: {}", head(finding, names), finding.advised),
        small: Some(format!(
            "{}{}{} Source: {}.",
            measured.collect::<String>(),
            why(finding),
            shows.collect::<String>(),
            source(finding)
        )),
        warning: finding.severity == Severity::Critical,
    }
}

/// `critical my.cnf:7: innodb_doublewrite = 0`.
fn head(finding: &AdviceFinding, names: &BTreeMap<&str, &str>) -> String {
    let place = finding.at.as_ref().map(|at| format!("{}:{}: ", names.get(at.file.as_str()).unwrap_or(&""), at.line));
    format!("{} {}{}", finding.severity.name(), place.unwrap_or_default(), finding.found)
}

fn nothing(advice: &Advice, step: AdviceStep) -> &'static str {
    if advice.steps_seen.contains(&step) { "nothing to do" } else { "not looked at" }
}

/// What a step has found, in a few words.
fn found(advice: &Advice, step: AdviceStep) -> String {
    let findings: Vec<&AdviceFinding> = advice.of_step(step).collect();
    if findings.is_empty() { nothing(advice, step).to_owned() } else { counts(findings.into_iter()) }
}

/// `2 critical, 1 warn`.
fn counts<'a>(findings: impl Iterator<Item = &'a AdviceFinding> + Clone) -> String {
    let of = |severity: Severity| {
        let count = findings.clone().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| format!("{count} {}", severity.name()))
    };
    let told: Vec<String> = [Severity::Critical, Severity::Warn, Severity::Info].into_iter().filter_map(of).collect();
    if told.is_empty() { "nothing found".to_owned() } else { told.join(", ") }
}

fn table(findings: &[&AdviceFinding]) -> Table {
    let cells = |of: fn(&AdviceFinding) -> String| findings.iter().map(|finding| of(finding)).collect();
    let columns = vec![
        Column::words("severity", cells(|finding| finding.severity.name().to_owned())),
        Column::words("where", cells(place)),
        Column::words("what is", cells(|finding| finding.found.clone())),
        Column::words("advice", cells(|finding| finding.advised.clone())),
        Column::words("why", cells(why)),
        Column::words("measured", cells(measured)),
        Column::words("how to see it", cells(|finding| finding.shows.clone().unwrap_or_default())),
        Column::words("source", cells(source)),
    ];
    let marks = findings.iter().map(|finding| (finding.severity == Severity::Critical).then_some(Mark::Broken));
    Table { marks: marks.collect(), ..Table::new(columns) }
}

/// `my.cnf:22`, as editors and compilers write it.
fn place(finding: &AdviceFinding) -> String {
    finding.at.as_ref().map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default()
}

fn why(finding: &AdviceFinding) -> String {
    let classes: Vec<&str> = finding.costs.iter().map(|class| class.name()).collect();
    let classes = if classes.is_empty() { String::new() } else { format!(" Durability class {}.", classes.join(", ")) };
    format!("{}{classes}", finding.why)
}

/// `kept: it brings +60 % …`; empty of what was not tried.
fn measured(finding: &AdviceFinding) -> String {
    finding.measured.as_ref().map(|of| format!("{}: {}", of.verdict.words(), of.why)).unwrap_or_default()
}

fn source(finding: &AdviceFinding) -> String {
    let mark = if finding.confirmed { String::new() } else { format!(" ({FROM_DOCUMENTATION})") };
    format!("{}{mark}", finding.source)
}

/// The answer, six numbered steps, and what was and was not seen; ends with a line break.
pub fn terminal(advice: &Advice, look: TextLook) -> String {
    let names = short_names(advice);
    let mut lines: Vec<String> =
        look.wrapped(&clean(&advice.answer)).into_iter().map(|line| look.style(BOLD, line)).collect();
    for step in AdviceStep::ALL {
        lines.push(String::new());
        lines.push(look.style(BOLD, format!("{}. {}: {}", step.number(), step.words(), found(advice, step))));
        lines.extend(advice.of_step(step).flat_map(|finding| told(finding, &names, look)));
    }
    let seen = advice.looked_at.iter().map(|text| format!("looked at: {text}"));
    let unseen = advice.unseen.iter().map(|text| format!("not seen: {text}"));
    lines.push(String::new());
    lines.extend(seen.chain(unseen).flat_map(|text| look.wrapped(&clean(&text))));
    lines.join("\n") + "\n"
}

/// What each file is called where its path would be in the way: its last part, if no other file has that.
fn short_names(advice: &Advice) -> BTreeMap<&str, &str> {
    let files: BTreeSet<&str> =
        advice.findings.iter().filter_map(|finding| Some(finding.at.as_ref()?.file.as_str())).collect();
    let last = |file: &str| file.rsplit('/').next().map(str::len).unwrap_or_default();
    let named = files.iter().map(|file| (*file, &file[file.len() - last(file)..]));
    let is_alone = |name: &str| files.iter().filter(|file| file.ends_with(name)).count() == 1;
    named.map(|(file, name)| (file, if is_alone(name) { name } else { file })).collect()
}

/// What is only good to know takes a line, and those of what it rests on.
fn told(finding: &AdviceFinding, names: &BTreeMap<&str, &str>, look: TextLook) -> Vec<String> {
    let head = format!("   {}", head(finding, names));
    let small = rests_on(finding).into_iter().flat_map(|text| look.wrapped(&clean(&format!("     {text}"))));
    let small = small.map(|line| look.style(DIM, line));
    if finding.severity == Severity::Info && finding.measured.is_none() {
        let all = look.wrapped(&clean(&format!("{head}: {}. {}", finding.advised, why(finding))));
        return all.into_iter().chain(small).collect();
    }
    let head = look.wrapped(&clean(&head)).into_iter().map(|line| look.style(BOLD, line));
    let advised = look.wrapped(&clean(&format!("     {}", finding.advised)));
    let why = look.wrapped(&clean(&format!("     {}", why(finding))));
    let measured = finding.measured.iter().flat_map(|_| look.wrapped(&clean(&format!("     {}", measured(finding)))));
    let measured = measured.map(|line| look.style(BOLD, line));
    head.chain(advised).chain(measured).chain(why).chain(small).collect()
}

/// How to see that it was done, and what it is known from.
fn rests_on(finding: &AdviceFinding) -> Vec<String> {
    let known_from = if finding.confirmed { "source" } else { FROM_DOCUMENTATION };
    let shows = finding.shows.iter().map(|shows| format!("how to see it: {shows}"));
    shows.chain([format!("{known_from}: {}", finding.source)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Class;
    use plimsoll_model::origin::Where;

    fn advice(findings: Vec<AdviceFinding>) -> Advice {
        Advice {
            about: "my.cnf for MySQL 9.7".to_owned(),
            answer: "Do first: x.".to_owned(),
            findings,
            steps_seen: vec![AdviceStep::Assess, AdviceStep::Install],
            looked_at: vec!["1 option".to_owned()],
            unseen: vec!["the server".to_owned()],
        }
    }

    fn danger() -> AdviceFinding {
        AdviceFinding {
            rule: "config.danger".to_owned(),
            step: AdviceStep::Assess,
            severity: Severity::Critical,
            setting: Some("innodb_doublewrite".to_owned()),
            at: Some(Where { file: "/etc/my.cnf".to_owned(), line: 7 }),
            found: "innodb_doublewrite = 0".to_owned(),
            advised: "delete the line".to_owned(),
            line: Some(String::new()),
            why: "It leaves torn pages unrepaired after a crash.".to_owned(),
            costs: vec![Class::D2],
            shows: None,
            source: "MySQL manual".to_owned(),
            confirmed: false,
            worth: 0.0,
            measured: None,
        }
    }

    #[test]
    fn the_answer_is_the_first_line_and_all_six_steps_follow() {
        let text = terminal(&advice(vec![danger()]), TextLook::PLAIN);
        assert!(text.starts_with("Do first: x.\n\n1. Assess what is needed: 1 critical\n"), "{text}");
        assert!(text.contains("   critical my.cnf:7: innodb_doublewrite = 0\n     delete the line\n"), "{text}");
        assert!(text.contains("Durability class d2.\n     from documentation: MySQL manual\n"), "{text}");
        assert!(text.contains("2. Install and configure: nothing to do\n"), "{text}");
        assert!(text.contains("6. Measure and adjust: not looked at\n"), "{text}");
        assert!(text.ends_with("looked at: 1 option\nnot seen: the server\n"), "{text}");
    }

    #[test]
    fn what_is_only_good_to_know_says_what_to_do_all_the_same() {
        let good_to_know = AdviceFinding {
            severity: Severity::Info,
            at: None,
            found: "sorts took 50 passes".to_owned(),
            advised: "set sort_buffer_size = 512K".to_owned(),
            why: "An index helps more.".to_owned(),
            costs: Vec::new(),
            shows: Some("Sort_merge_passes stands still".to_owned()),
            confirmed: true,
            ..danger()
        };
        let text = terminal(&advice(vec![good_to_know]), TextLook::PLAIN);
        let told = "   info sorts took 50 passes: set sort_buffer_size = 512K. An index helps more.\n     \
                    how to see it: Sort_merge_passes stands still\n     source: MySQL manual\n";
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn a_document_has_a_section_for_each_step_and_the_findings_as_data() {
        let document = document(&advice(vec![danger()]), "now");
        let headings: Vec<&str> = document.sections.iter().map(|section| section.heading.as_str()).collect();
        assert_eq!(headings[0], "1. Assess what is needed");
        assert_eq!(&headings[5..], ["6. Measure and adjust", "Looked at", "Not seen"]);
        assert_eq!(document.data["steps"][0]["findings"][0]["costs"][0], "d2");
        assert_eq!(document.facts, ["1 critical"]);
    }
}
