//! Storage evaluations compared: their sheets line by line, their probes round by round.

use super::facts::Facts;
use super::rounds::Round;
use super::sides::Chosen;
use super::{Group, caveats, pairing};
use crate::AnalysisError;
use plimsoll_model::comparison::{Design, Difference, Side};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::io::{DeviceFacts, IoSummary, Probe, SheetLine};
use plimsoll_model::io_comparison::{
    IoComparison, NotCompared, ProbeChange, ProbePair, SCHEMA_VERSION, SheetPair, SheetValue,
};
use plimsoll_model::metric::Statistic;
use plimsoll_model::{Caveat, ProbeMetric, Scalar};
use plimsoll_record::RecordError;
use plimsoll_stats::comparison::{each_of, paired, unpaired, verdict};
use plimsoll_stats::sides::middle;
use serde_json::Value;

/// What is never alike and tells nothing.
const NOT_OF_THE_PATH: [&str; 2] = ["free_bytes", "backing_file"];

/// Compares sides that are storage evaluations; `unreadable` are recordings that could not be looked at.
pub fn compare(
    a: Chosen,
    b: Chosen,
    equivalence: f64,
    unreadable: &[RecordError],
) -> Result<IoComparison, AnalysisError> {
    let (a, b) = (group(a), group(b));
    let (ids, not_compared) = comparable(&a, &b);
    if ids.is_empty() {
        return Err(AnalysisError::Refused(format!(
            "no measurement is in all rounds of {} and {}{}: run one suite on both",
            a.chosen.name,
            b.chosen.name,
            not_compared.first().map_or(String::new(), |first| format!(" ({}: {})", first.id, first.why))
        )));
    }
    let unpaired_because = pairing::obstacle(&a, &b);
    let design = if unpaired_because.is_none() { Design::Paired } else { Design::Unpaired };
    let confidence = each_of(ids.len(), CONFIDENCE);
    let probes = ids.iter().map(|id| pair(&a, &b, id, |a, b| change(a, b, design, confidence, equivalence)));
    let mut reasons = caveats::all(&a, &b, design, &[], unreadable);
    reasons.extend(single(&a, &b));
    Ok(IoComparison {
        schema_version: SCHEMA_VERSION,
        design,
        unpaired_because,
        equivalence,
        sheet: sheets(last(&a), last(&b)),
        probes: probes.collect(),
        not_compared,
        a: side(&a),
        b: side(&b),
        differences: differences(&a, &b),
        caveats: reasons,
    })
}

/// A recording is a round.
fn group(chosen: Chosen) -> Group {
    let round = |view: &plimsoll_record::read::RecordingView| Round {
        number: 1,
        directory: view.directory.clone(),
        started: view.manifest.started,
        ended: view.manifest.ended.unwrap_or(view.manifest.started),
        points: Vec::new(),
    };
    let rounds: Vec<Round> = chosen.recordings.iter().map(round).collect();
    Group { facts: Facts::of(&chosen), chosen, all: rounds.clone(), rounds }
}

fn summaries(group: &Group) -> impl Iterator<Item = &IoSummary> {
    group.chosen.recordings.iter().filter_map(|view| view.io.as_ref())
}

fn last(group: &Group) -> Option<&IoSummary> {
    summaries(group).last()
}

fn measured<'a>(summary: &'a IoSummary, id: &str) -> Option<&'a Probe> {
    summary.probes.iter().find(|probe| probe.id == id && probe.error.is_none())
}

/// Ids that every round of both sides measured in the same way, in the order of the first; and all others with the reason.
fn comparable(a: &Group, b: &Group) -> (Vec<String>, Vec<NotCompared>) {
    let mut ids: Vec<&str> = Vec::new();
    for probe in summaries(a).chain(summaries(b)).flat_map(|summary| &summary.probes) {
        if !ids.contains(&probe.id.as_str()) {
            ids.push(&probe.id);
        }
    }
    let (mut same, mut others) = (Vec::new(), Vec::new());
    for id in ids {
        match obstacle(a, b, id) {
            None => same.push(id.to_owned()),
            Some(why) => others.push(NotCompared { id: id.to_owned(), why }),
        }
    }
    (same, others)
}

/// Why a measurement cannot be compared.
fn obstacle(a: &Group, b: &Group, id: &str) -> Option<String> {
    let rounds = |group| summaries(group).filter(|summary| measured(summary, id).is_some()).count();
    match (rounds(a), rounds(b)) {
        (0, 0) => return Some("failed on both sides".to_owned()),
        (_, 0) => return Some(format!("only in {}", a.chosen.name)),
        (0, _) => return Some(format!("only in {}", b.chosen.name)),
        (of_a, of_b) if of_a < a.rounds.len() || of_b < b.rounds.len() => {
            return Some("not in all rounds".to_owned());
        }
        _ => {}
    }
    let mut all = summaries(a).chain(summaries(b)).filter_map(|summary| measured(summary, id));
    let first = all.next()?;
    all.find_map(|other| unlike(first, other))
}

/// The first parameter in which two measurements differ.
fn unlike(a: &Probe, b: &Probe) -> Option<String> {
    let shown = |probe: &Probe, name: &str| probe.params.get(name).map_or("not given".to_owned(), Scalar::to_string);
    let mut names = a.params.keys().chain(b.params.keys());
    let differing = names.find(|name| a.params.get(*name) != b.params.get(*name))?;
    Some(format!("{differing} is {} and {}", shown(a, differing), shown(b, differing)))
}

fn pair(a: &Group, b: &Group, id: &str, change: impl Fn(&[f64], &[f64]) -> Option<ProbeChange>) -> ProbePair {
    let compared = |of: &dyn Fn(&Probe) -> Option<f64>| {
        let values = |group| -> Option<Vec<f64>> {
            let each = summaries(group).map(|summary| of(measured(summary, id)?).filter(|v| *v > 0.0 && v.is_finite()));
            each.collect()
        };
        change(&values(a)?, &values(b)?)
    };
    let first = summaries(a).next().and_then(|summary| measured(summary, id));
    let p99 = |probe: &Probe, kind| ProbeMetric::Latency(kind, Statistic::P99).value(probe);
    let kind = first.and_then(|probe| Probe::KINDS.into_iter().find(|kind| p99(probe, *kind).is_some()));
    ProbePair {
        id: id.to_owned(),
        name: first.map(|probe| probe.name.clone()).unwrap_or_default(),
        iops: compared(&|probe| probe.iops),
        p99_us: kind.and_then(|kind| compared(&|probe| p99(probe, kind))),
        kind,
    }
}

fn change(a: &[f64], b: &[f64], design: Design, confidence: f64, equivalence: f64) -> Option<ProbeChange> {
    let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
    let change = match design {
        Design::Paired => paired(&pairs, confidence),
        Design::Unpaired => unpaired(a, b, confidence),
    };
    // Values of 0, which alone are refused, were left out before.
    let change = change.ok()?;
    Some(ProbeChange { a: middle(a), b: middle(b), verdict: verdict(&change, equivalence), change })
}

/// Every line that one of the two has, in the order of the first.
fn sheets(a: Option<&IoSummary>, b: Option<&IoSummary>) -> Vec<SheetPair> {
    let of = |summary: Option<&IoSummary>| summary.map(|summary| summary.sheet.clone()).unwrap_or_default();
    let (of_a, of_b) = (of(a), of(b));
    let find =
        |lines: &[SheetLine], key: &str| lines.iter().find(|line| line.key == key).map(value).unwrap_or_default();
    let new = of_b.iter().filter(|line| of_a.iter().all(|known| known.key != line.key));
    let pair = |line: &SheetLine| SheetPair {
        key: line.key.clone(),
        topic: line.topic.clone(),
        unit: line.unit.clone(),
        a: find(&of_a, &line.key),
        b: find(&of_b, &line.key),
    };
    of_a.iter().chain(new).map(pair).collect()
}

fn value(line: &SheetLine) -> SheetValue {
    SheetValue { value: line.value.clone(), statement: Some(line.statement.clone()), warning: line.warning }
}

fn side(group: &Group) -> Side {
    Side {
        name: group.chosen.name.clone(),
        variant: group.chosen.variant.clone(),
        recordings: group.chosen.recordings.iter().map(|view| view.directory.display().to_string()).collect(),
        rounds: group.rounds.len(),
        // There is no one figure whose noise would stand for all.
        noise_floor: None,
    }
}

/// What the recordings tell to differ, after what lies below the directories.
fn differences(a: &Group, b: &Group) -> Vec<Difference> {
    let facts = |group| last(group).map(|summary| device(&summary.device)).unwrap_or_default();
    let (of_a, of_b) = (facts(a), facts(b));
    let differing = of_a.iter().filter(|(name, value)| of_b.get(*name) != Some(value));
    let told = differing.filter(|(name, _)| !NOT_OF_THE_PATH.contains(&name.as_str()));
    let of_devices = told.map(|(name, value)| Difference {
        what: format!("device.{name}"),
        a: shown(value),
        b: of_b.get(name).and_then(shown),
    });
    of_devices.chain(a.facts.differences(&b.facts)).collect()
}

fn device(device: &DeviceFacts) -> serde_json::Map<String, Value> {
    serde_json::to_value(device).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(shown).collect::<Vec<_>>().join(",")),
        other => Some(other.to_string()),
    }
}

/// Said where it is the least that can be compared.
fn single(a: &Group, b: &Group) -> Option<Caveat> {
    let is_single = a.rounds.len() == 1 || b.rounds.len() == 1;
    is_single.then(|| {
        Caveat::new(
            "one_round",
            "one round cannot tell chance from difference: evaluate both in turn several times, each under one --name, and \
             compare the names",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Compared, compare};
    use super::*;
    use jiff::{SignedDuration, Timestamp};
    use plimsoll_host::facts::HostFacts;
    use plimsoll_model::OpKind;
    use plimsoll_model::comparison::Verdict;
    use plimsoll_model::io::LatencyUs;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::{Manifest, Recording, Status};
    use plimsoll_testkit::servers;
    use tempfile::TempDir;

    fn probe(id: &str, iops: f64) -> Probe {
        let latency = LatencyUs { count: 9, p99: Some(1e6 / iops), ..LatencyUs::default() };
        let latency_us = [(OpKind::Read, latency)].into();
        Probe { probe: 6, id: id.to_owned(), iops: Some(iops), latency_us, ..Probe::default() }
    }

    fn line(key: &str, value: Option<Scalar>) -> SheetLine {
        let (topic, statement) = ("Page reads".to_owned(), format!("{key} is {value:?}."));
        SheetLine {
            key: key.to_owned(),
            topic,
            statement,
            value,
            unit: String::new(),
            probes: Vec::new(),
            warning: false,
        }
    }

    fn summary(filesystem: &str, probes: Vec<Probe>) -> IoSummary {
        IoSummary {
            schema_version: 1,
            directory: "/mnt".to_owned(),
            suite: "quick".to_owned(),
            seed: 1,
            device: DeviceFacts { filesystem: Some(filesystem.to_owned()), ..DeviceFacts::default() },
            sheet: vec![line(filesystem, Some(true.into())), line("page_reads_max", probes[0].iops.map(Scalar::from))],
            probes,
            validation: Vec::new(),
            published: Vec::new(),
            caveats: Vec::new(),
            recording: None,
            interrupted: false,
        }
    }

    /// A finished recording that begins `at` seconds; of a run without a summary.
    fn write(home: &TempDir, name: &str, at: i64, summary: Option<&IoSummary>) {
        let start: Timestamp = "2026-11-21T19:30:00Z".parse().unwrap();
        let started = start + SignedDuration::from_secs(at);
        let manifest =
            Manifest::new(name, "0.1.0", started, Plan::Storage(StoragePlan::default()), HostFacts::default());
        let mut recording = Recording::create(home.path(), manifest).unwrap();
        if let Some(summary) = summary {
            recording.io_summary(summary).unwrap();
        }
        recording.finish(Status::Done, started + SignedDuration::from_secs(5)).unwrap();
    }

    fn found(home: &TempDir) -> IoComparison {
        match compare(home.path(), "ext4", "xfs", Some(0.02)).unwrap() {
            Compared::Storage(found) => *found,
            Compared::Runs(found) => panic!("storage was taken for runs: {found:?}"),
        }
    }

    #[test]
    fn interleaved_rounds_give_intervals_and_one_round_says_that_it_cannot() {
        let home = servers::home();
        for round in 0..4 {
            let noise = f64::from(round);
            let ext4 = summary("ext4", vec![probe("6.depth-1", 1000.0 + noise), probe("6.depth-16", 500.0)]);
            let xfs = summary("xfs", vec![probe("6.depth-1", 1500.0 - noise)]);
            write(&home, "ext4", i64::from(20 * round), Some(&ext4));
            write(&home, "xfs", i64::from(20 * round + 10), Some(&xfs));
        }
        let compared = found(&home);
        assert_eq!((compared.design, compared.a.rounds), (Design::Paired, 4));
        let [only] = compared.probes.as_slice() else { panic!("{:?}", compared.probes) };
        let only_in_one = NotCompared { id: "6.depth-16".to_owned(), why: "only in ext4".to_owned() };
        assert_eq!(compared.not_compared, [only_in_one]);
        let rate = only.iops.as_ref().unwrap();
        assert!((rate.change.value - 0.496).abs() < 0.01 && rate.verdict == Verdict::Higher, "{rate:?}");
        assert_eq!(only.p99_us.as_ref().unwrap().verdict, Verdict::Lower);
        assert!(compared.differences.iter().any(|of| of.what == "device.filesystem" && of.b.as_deref() == Some("xfs")));
        assert!(compared.caveats.iter().all(|caveat| caveat.code != "one_round"));
    }

    #[test]
    fn one_round_of_each_has_both_values_and_no_verdict() {
        let home = servers::home();
        write(&home, "ext4", 0, Some(&summary("ext4", vec![probe("6.depth-1", 1000.0)])));
        write(&home, "xfs", 10, Some(&summary("xfs", vec![probe("6.depth-1", 1500.0)])));
        let compared = found(&home);
        let rate = compared.probes[0].iops.as_ref().unwrap();
        assert!(rate.verdict == Verdict::Unclear && rate.change.interval().is_none(), "{rate:?}");
        assert!(compared.caveats.iter().any(|caveat| caveat.code == "one_round"));
        let keys: Vec<&str> = compared.sheet.iter().map(|pair| pair.key.as_str()).collect();
        assert_eq!(keys, ["ext4", "page_reads_max", "xfs"]);
        assert_eq!(
            (&compared.sheet[1].a.value, &compared.sheet[1].b.value),
            (&Some(1000.0.into()), &Some(1500.0.into()))
        );
        assert!(compared.sheet[0].b.statement.is_none());
    }

    #[test]
    fn measurements_that_failed_or_are_unlike_have_no_verdict() {
        let over = |bytes: u64, iops| {
            let params = [("set_bytes".to_owned(), bytes.into())].into();
            Probe { params, ..probe("6.depth-1", iops) }
        };
        let failed = Probe { error: Some("EIO".to_owned()), ..probe("7.depth-1", 9.0) };
        let home = servers::home();
        let alike = probe("6.depth-16", 9.0);
        write(
            &home,
            "ext4",
            0,
            Some(&summary("ext4", vec![over(1 << 30, 9.0), alike.clone(), probe("7.depth-1", 9.0)])),
        );
        write(&home, "xfs", 10, Some(&summary("xfs", vec![over(1 << 20, 9.0), alike, failed])));
        let compared = found(&home);
        assert_eq!(compared.probes.iter().map(|pair| pair.id.as_str()).collect::<Vec<_>>(), ["6.depth-16"]);
        let whys: Vec<&str> = compared.not_compared.iter().map(|of| of.why.as_str()).collect();
        assert_eq!(whys, ["set_bytes is 1073741824 and 1048576", "only in ext4"]);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let refusal = |write_b: &dyn Fn(&TempDir)| {
            let home = servers::home();
            write(&home, "ext4", 0, Some(&summary("ext4", vec![probe("6.depth-1", 1000.0)])));
            write_b(&home);
            compare(home.path(), "ext4", "xfs", Some(0.02)).expect_err("a refusal").to_string()
        };
        let other = refusal(&|home| write(home, "xfs", 10, Some(&summary("xfs", vec![probe("7.depth-1", 9.0)]))));
        assert!(other.contains("no measurement is in all rounds of ext4 and xfs"), "{other}");
        let mixed = refusal(&|home| {
            write(home, "xfs", 10, Some(&summary("xfs", vec![probe("6.depth-1", 9.0)])));
            write(home, "xfs", 20, None);
        });
        assert!(mixed.contains("xfs has recordings of two kinds"), "{mixed}");
    }
}
