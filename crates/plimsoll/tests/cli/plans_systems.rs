//! Plans that compare systems, connections and file systems, and recordings of other machines in one report.

use crate::every_plan::Shortened;
use crate::harness::{Done, Lab, plan_called, run};
use plimsoll_testkit::servers;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than a preset `small` takes anywhere.
const PATIENCE: Duration = Duration::from_secs(2700);

/// Recordings of `bourke-systems` of other machines; the script beside them says how they were made.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/systems").join(name)
}

/// The plan with nothing but these groups of variants, and its preset `small` cut to one round of a second.
fn cut(text: &str, groups: &[&str]) -> String {
    let starts: Vec<usize> = text.match_indices("\n[").map(|(at, _)| at + 1).chain([text.len()]).collect();
    let sections = starts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
    let is_of = |line: &str| groups.iter().any(|group| line.contains(&format!("\"{group}/")));
    let is_kept = |section: &&str| match section.lines().find(|line| line.starts_with("name =")) {
        Some(name) if section.starts_with("[[variant]]") => is_of(name),
        _ => !section.starts_with("[[published]]") || section.contains("change_percent") && is_of(section),
    };
    let is_line_kept =
        |line: &&str| !line.starts_with('"') || !line.contains("/") || is_of(line) || !line.contains("= {");
    let head = &text[..starts[0]];
    let kept: Vec<&str> = [head].into_iter().chain(sections.filter(is_kept)).flat_map(str::lines).collect();
    let lines = kept.into_iter().filter(is_line_kept).map(|line| match line.starts_with("trials = {") {
        true => "trials = { warmup = \"0s\", measure = \"1s\", rounds = 1 }",
        false => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn page(lab: &Lab, recordings: &str, format: &str) -> String {
    lab.does(&format!("report {recordings} --format {format} -o -")).out
}

fn names(document: &Value) -> Vec<&str> {
    let systems = document["data"]["systems"].as_array().expect("systems");
    systems.iter().map(|system| system["name"].as_str().expect("a name")).collect()
}

/// Variants that a system was measured with.
fn variants(system: &Value) -> Vec<&str> {
    let cells = system["cells"].as_array().expect("cells");
    cells.iter().map(|cell| cell["variant"].as_str().expect("a variant")).collect()
}

#[test]
fn recordings_of_other_machines_join_a_report() {
    let Some(lab) = is_root().then(Lab::mariadb).flatten() else { return };
    let text = fs::read_to_string(plan_called("bourke-systems")).expect("the plan");
    let path = lab.home().join("bourke-systems.toml");
    fs::write(&path, cut(&text, &["rows1m"])).expect("the home can be written");
    lab.does(&format!("lab {} --preset small --server {}", path.display(), lab.server().display()));
    let (eight, bare) = (fixture("eight-cpus"), fixture("without-telemetry"));
    let recordings = format!("bourke-systems {} {}", eight.display(), bare.display());
    let document: Value = serde_json::from_str(&page(&lab, &recordings, "json")).expect("one document");
    let others = ["FreeBSD 14.2 on eight cores", "NetBSD 10.1, a rented server"];
    assert_eq!(names(&document)[1..], others, "{:#}", document["data"]["systems"]);
    let systems = &document["data"]["systems"];
    let has = |system: usize, variant| variants(&systems[system]).contains(&variant);
    assert!(has(1, "select/1cpu") && !has(1, "update/1cpu") && has(2, "update/1cpu") && !has(2, "select/1cpu"));
    what_is_missing_is_said(&document);
    in_every_format(&lab, &recordings, &document);
}

fn what_is_missing_is_said(document: &Value) {
    let findings = document["findings"].to_string();
    assert!(findings.contains("trials have no host.ndjson, server.ndjson, latency.hlog"), "{findings}");
    let more = |of: &str| findings.contains(&format!("{of}: 2cpu against 1cpu"));
    assert!(more("select") && more("update") && more("rows1m"), "{findings}");
    assert!(findings.contains("NetBSD 10.1, a rented server not measured"), "{findings}");
}

fn in_every_format(lab: &Lab, recordings: &str, document: &Value) {
    let answer = document["answer"].as_str().expect("a sentence");
    assert!(answer.contains("rows1m/"), "all were asked this with the same parameters: {answer}");
    let html = page(lab, recordings, "html");
    assert!(html.contains("What more CPUs bring") && html.contains("not measured"), "{html}");
    let markdown = page(lab, recordings, "md");
    assert!(markdown.contains("## What more CPUs bring") && markdown.contains("NetBSD 10.1"), "{markdown}");
    let csv = page(lab, recordings, "csv");
    let row = |system: usize| format!("more-cpus,figure-more-cpus,{system},select: 2cpu against 1cpu,%,");
    let value = |system| csv.lines().find_map(|line| line.strip_prefix(row(system).as_str())).expect("a cell");
    assert!(!value(2).starts_with(','), "it was measured there: {}", value(2));
    assert!(value(3).is_empty() || value(3).starts_with(','), "an empty cell is empty: {}", value(3));
    let svg = lab.does(&format!("report {recordings} --format svg --figure more-cpus -o -")).out;
    assert!(svg.contains("not measured") && svg.matches('%').count() > 3, "{svg}");
}

/// Whether a server's memory can be limited and lanes can be mounted.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        servers::skip("limits of memory and lanes need root");
    }
    is_root
}

/// The small preset of a plan on one server, with these options.
fn of_plan(server: Option<PathBuf>, plan: &Path, options: &str) -> Option<(tempfile::TempDir, Done)> {
    let server = server.filter(|_| is_root())?;
    let home = servers::home();
    let _slot = servers::slot();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.arg("lab").arg(plan).args(["--preset", "small", "--server"]).arg(server);
    command.args(options.split_whitespace());
    let done = match options {
        "--dry-run" => run(command),
        _ => crate::harness::begin(command).end_within(PATIENCE),
    };
    Some((home, done))
}

#[test]
fn what_the_plans_would_do_is_told_for_mariadb_and_mysql() {
    for server in [servers::mariadb(), servers::mysql()] {
        for name in ["bourke-systems", "sun-connections"] {
            let Some((_home, done)) = of_plan(server.clone(), &plan_called(name), "--dry-run") else { continue };
            let done = done.exits(0);
            assert!(done.out.contains("preset small") && done.out.contains("nothing was started"), "{done}");
        }
    }
}

/// Runs the preset `small` to its end; the summary, of which no trial failed.
fn small(server: Option<PathBuf>, plan: &Shortened) -> Option<Value> {
    let _lanes = servers::lanes();
    let (_home, done) = of_plan(server, &plan.path(), "--json")?;
    let summary = done.exits(0).json();
    assert_eq!(summary["trials"]["failed"], 0, "{summary:#}");
    Some(summary)
}

/// One CPU against two, and direct against buffered I/O.
pub fn bourke_systems(plan: &Shortened, server: Option<PathBuf>) {
    let Some(summary) = small(server, plan) else { return };
    let compared: Vec<_> = summary["comparisons"].as_array().expect("comparisons").iter().map(|of| &of["a"]).collect();
    let bases = ["select/1cpu", "update/1cpu", "rows1m/1cpu", "rows10m/1cpu", "rows10m/1cpu"];
    assert_eq!(compared, bases, "each workload with itself, and direct with buffered I/O");
}

/// Curves over all connections, and the settings before and after for both workloads.
pub fn sun_connections(plan: &Shortened, server: Option<PathBuf>) {
    let Some(summary) = small(server, plan) else { return };
    assert_eq!(summary["cells"].as_array().map(Vec::len), Some(18), "{summary:#}");
    let compared = summary["comparisons"].as_array().expect("comparisons");
    let rows = compared.iter().map(|of| (&of["a"], &of["b"], &of["rows"][0]["connections"]));
    let told: Vec<String> = rows.map(|(a, b, at)| format!("{a} {b} {at}")).collect();
    let both = ["\"read-only/before\" \"read-only/after\" 32", "\"read-write/before\" \"read-write/after\" 32"];
    assert_eq!(told, both);
}

/// Five file systems, which are mounted.
pub fn filesystems_here(plan: &Shortened, server: Option<PathBuf>) {
    let Some(summary) = small(server, plan) else { return };
    let variants: Vec<_> = summary["cells"].as_array().expect("cells").iter().map(|cell| &cell["variant"]).collect();
    assert_eq!(variants, ["ext4", "xfs", "btrfs", "tmpfs", "overlay"]);
}
