//! What a gate decided, for continuous integration: JUnit XML, annotations and a job summary for GitHub Actions.

use plimsoll_model::gate::{Decision, GateFinding};
use plimsoll_model::layout::escape;
use plimsoll_model::number::counted;
use plimsoll_report::document::{Block, Document, Section};
use plimsoll_report::table::{Column, Table};
use std::fmt::Write;

/// One test suite of this name, in which every limit is a test case. One that is undecided is skipped, or with
/// `unclear_fails` a failure. An early end is an error (the schema that Jenkins publishes, `junit-10.xsd`).
pub fn junit(suite: &str, findings: &[GateFinding], unclear_fails: bool, ended_early: Option<&str>) -> String {
    let undecided = count(findings, Decision::Undecided);
    let (skipped, unclear) = if unclear_fails { (0, undecided) } else { (undecided, 0) };
    let (failures, errors) = (count(findings, Decision::Failed) + unclear, usize::from(ended_early.is_some()));
    let suite = escape(suite);
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plimsoll\">\n".to_owned();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{suite}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">",
        findings.len() + errors
    );
    for finding in findings {
        let outcome = match finding.decision {
            Decision::Passed => None,
            Decision::Undecided if !unclear_fails => Some("skipped"),
            Decision::Failed | Decision::Undecided => Some("failure"),
        };
        xml += &test_case(&suite, &finding.title(), outcome, &finding.sentence());
    }
    if let Some(why) = ended_early {
        xml += &test_case(&suite, "comes to its end", Some("error"), why);
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// How many were decided so.
pub fn count(findings: &[GateFinding], decision: Decision) -> usize {
    findings.iter().filter(|finding| finding.decision == decision).count()
}

fn test_case(suite: &str, name: &str, outcome: Option<&str>, message: &str) -> String {
    let (name, message) = (escape(name), escape(message));
    let begin = format!("    <testcase classname=\"{suite}\" name=\"{name}\"");
    match outcome {
        Some(outcome) => format!("{begin}>\n      <{outcome} message=\"{message}\"/>\n    </testcase>\n"),
        None => format!("{begin}>\n      <system-out>{message}</system-out>\n    </testcase>\n"),
    }
}

/// Workflow commands that show each finding beside the job (GitHub, "Workflow commands for GitHub Actions"). An undecided
/// one is a warning, or with `unclear_fails` an error.
pub fn annotations(findings: &[GateFinding], unclear_fails: bool) -> String {
    let line = |finding: &GateFinding| {
        let command = match finding.decision {
            Decision::Passed => "notice",
            Decision::Undecided if !unclear_fails => "warning",
            Decision::Failed | Decision::Undecided => "error",
        };
        format!("::{command} title=plimsoll::{}", escaped_data(&finding.sentence()))
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the runner takes for the message of one command: it would read a line break as the end of it.
fn escaped_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The summary of a job: what was decided, and the answer of what was measured.
pub fn document(answer: &str, findings: &[GateFinding], generated: &str) -> Document {
    let (failed, undecided) = (count(findings, Decision::Failed), count(findings, Decision::Undecided));
    let all = counted(findings.len() as f64, "limit");
    let title = match (failed, undecided) {
        (0, 0) => format!("Gate passed: {all}"),
        (0, _) => format!("Gate undecided: {undecided} of {all}"),
        _ => format!("Gate failed: {failed} of {all}"),
    };
    let cells = |of: &dyn Fn(&GateFinding) -> String| findings.iter().map(of).collect();
    let table = Table::new(vec![
        Column::words("limit", cells(&|finding| finding.limit.clone())),
        Column::words("at", cells(&|finding| finding.at.clone().unwrap_or_default())),
        Column::words("gate", cells(&|finding| finding.decision.word().to_owned())),
        Column::words("measured", cells(&|finding| finding.why.clone())),
    ]);
    Document {
        title,
        answer: answer.to_owned(),
        findings: Vec::new(),
        facts: Vec::new(),
        sections: Section::of("gate", "Limits", vec![Block::table("gate", table, [])]).into_iter().collect(),
        generated: generated.to_owned(),
        data: serde_json::to_value(findings).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(decision: Decision) -> GateFinding {
        GateFinding {
            limit: "p99 > 20ms".to_owned(),
            at: Some("<16> & \"a\u{1b}\"\nb".to_owned()),
            decision,
            measured: None,
            why: "5 % at\r\n::error::x".to_owned(),
        }
    }

    fn all() -> Vec<GateFinding> {
        [Decision::Passed, Decision::Failed, Decision::Undecided].map(finding).into()
    }

    #[test]
    fn every_limit_is_a_test_case_of_xml_that_parses() {
        for (unclear_fails, counts) in [(false, ["4", "1", "1", "1"]), (true, ["4", "2", "1", "0"])] {
            let xml = junit("gate & co", &all(), unclear_fails, Some("the server is gone"));
            let document = roxmltree::Document::parse(&xml).unwrap();
            let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
            let found = ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap());
            assert_eq!(found, counts);
            let of = |name| document.descendants().filter(|node| node.has_tag_name(name)).count().to_string();
            assert_eq!(["testcase", "failure", "error", "skipped"].map(of), counts);
        }
    }

    #[test]
    fn an_annotation_is_one_line_however_hostile_its_text() {
        let lines = annotations(&all(), false);
        let commands: Vec<&str> = lines.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(commands, ["::notice", "::error", "::warning"]);
        assert!(lines.contains("5 %25 at%0D%0A::error::x"), "{lines}");
        assert!(annotations(&all(), true).lines().all(|line| !line.starts_with("::warning")));
    }

    #[test]
    fn the_summary_of_a_job_says_the_decision_first() {
        let title = |of: &[Decision]| {
            let findings: Vec<GateFinding> = of.iter().copied().map(finding).collect();
            document("answer", &findings, "").title
        };
        assert_eq!(title(&[Decision::Passed]), "Gate passed: 1 limit");
        assert_eq!(title(&[Decision::Passed, Decision::Undecided]), "Gate undecided: 1 of 2 limits");
        assert_eq!(title(&[Decision::Failed, Decision::Undecided]), "Gate failed: 1 of 2 limits");
    }
}
