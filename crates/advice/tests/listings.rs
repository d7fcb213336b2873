//! The option files that three published documents print, judged for today's servers: what they would have to say.
//!
//! Each file of `listings/` is what is found in one of them for one release, a line each. After a change that is meant, the test
//! prints what it should be.

use plimsoll_advice::config::judge;
use plimsoll_advice::config::read::{ConfigSources, read};
use plimsoll_model::advice::{Advice, AdviceFinding};
use plimsoll_plan::knowledge::Release;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The listings as they are printed.
struct Printed;

impl ConfigSources for Printed {
    fn read(&mut self, file: &str) -> Result<Vec<u8>, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/tests/fixtures").join(file);
        fs::read(path).map_err(|error| error.to_string())
    }

    fn list(&mut self, directory: &str) -> Result<Vec<String>, String> {
        Err(format!("no listing of {directory}"))
    }
}

fn advice(file: &str, release: &str) -> Advice {
    let read = read(file, &mut Printed).expect("it is in the repository");
    judge(read, Release::parse(release).expect("a release"), BTreeSet::new())
}

fn told(advice: &Advice) -> String {
    let line = |finding: &AdviceFinding| {
        let at = finding.at.as_ref().map_or(0, |at| at.line);
        let severity = finding.severity.name();
        format!("{at} {severity} {} | {} | {} | {}\n", finding.rule, finding.found, finding.advised, finding.why)
    };
    let mut findings: Vec<&AdviceFinding> = advice.findings.iter().collect();
    findings.sort_by_key(|finding| finding.at.clone());
    format!("{}\n{}", advice.answer, findings.into_iter().map(line).collect::<String>())
}

#[test]
fn the_documents_listings_are_judged_for_todays_servers() {
    let mut differences = Vec::new();
    for file in ["netapp-tr3693-appendix-e", "sun-blueprint-chapter-3", "pure-flasharray-appendix-b"] {
        for release in ["mysql-5.7", "mysql-8.0.19", "mysql-8.4", "mysql-9.7", "mariadb-10.6", "mariadb-11.8"] {
            let found = told(&advice(&format!("{file}.cnf"), release));
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/listings/{file}.{release}.txt"));
            let golden = fs::read_to_string(&path).unwrap_or_default();
            if found != golden {
                differences.push(format!("{} should be:\n{found}", path.display()));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
