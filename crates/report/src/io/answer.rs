//! The answer of a storage evaluation in one sentence.

use plimsoll_model::io::{IoSummary, Prediction, Probe, SheetLine};
use plimsoll_model::number::{counted, short};

/// What the storage is good for, as one plain sentence.
pub fn answer(summary: &IoSummary) -> String {
    let measured: Vec<&Probe> = summary.probes.iter().filter(|probe| probe.iops.is_some()).collect();
    let found = [commits(summary), reads(summary), writes(summary)];
    let found: Vec<String> = found.into_iter().flatten().collect();
    let mut text = match (found.as_slice(), measured.as_slice()) {
        (_, []) => "Nothing was measured".to_owned(),
        ([], [only]) => format!("{} operations per second ({})", short(only.iops.unwrap_or(0.0)), only.id),
        ([], all) => threads(summary).unwrap_or_else(|| format!("{} done", counted(all.len() as f64, "measurement"))),
        ([one], _) => format!("Good for at most {one}"),
        ([first @ .., last], _) => format!("Good for at most {} and {last}", first.join(", ")),
    };
    if let Some(but) = durability(summary).filter(|_| !measured.is_empty()) {
        text += &format!("; {but}");
    }
    if summary.interrupted {
        text += &format!("; the evaluation ended early, after {}", counted(summary.probes.len() as f64, "measurement"));
    }
    text + "."
}

fn line<'a>(summary: &'a IoSummary, key: &str) -> Option<&'a SheetLine> {
    summary.sheet.iter().find(|line| line.key == key)
}

fn number(summary: &IoSummary, key: &str) -> Option<f64> {
    line(summary, key)?.number()
}

/// For the server with the higher rate at the most sessions tried.
fn commits(summary: &IoSummary) -> Option<String> {
    let of = |sessions: u32| {
        let servers = ["mysql", "mariadb"].into_iter();
        let rates = servers.filter_map(move |server| number(summary, &format!("commits_{sessions}_{server}")));
        rates.reduce(f64::max).map(|rate| Prediction::around(rate, sessions as usize).high)
    };
    let (most, rate) = [64, 8, 1].into_iter().find_map(|sessions| Some((sessions, of(sessions)?)))?;
    let kind = if verdict(summary) == Some("durable") { "durable" } else { "synced" };
    let text = format!("{} {kind} commits per second from {}", short(rate), counted(f64::from(most), "session"));
    Some(match of(1).filter(|_| most > 1) {
        Some(alone) => format!("{text} ({} from one)", short(alone)),
        None => text,
    })
}

fn reads(summary: &IoSummary) -> Option<String> {
    Some(format!("{} page reads", short(number(summary, "page_reads_max")?)))
}

fn writes(summary: &IoSummary) -> Option<String> {
    Some(format!("{} page writes per second", short(number(summary, "page_writes_sustained")?)))
}

/// For a matrix over threads and files: `64 threads read 5.7 times as much and write 4.9 times as much as one, and a
/// file takes several writes at a time`.
fn threads(summary: &IoSummary) -> Option<String> {
    let keyed = |prefix: &'static str| summary.sheet.iter().filter(move |line| line.key.starts_with(prefix));
    let many = |line: &SheetLine| summary.probes.iter().find(|probe| line.probes.last() == Some(&probe.id));
    let scaling: Vec<(&Probe, f64)> =
        keyed("scaling_").filter_map(|line| Some((many(line)?, line.number()?))).collect();
    // For reads the largest set, for writes the single file.
    let reads = scaling.iter().rev().find(|(probe, _)| probe.word("what") == "read");
    let writes = scaling.iter().find(|(probe, _)| probe.word("what") == "write");
    let told = [("read", reads), ("write", writes)];
    let told = told.into_iter().filter_map(|(verb, found)| Some(format!("{verb} {} times as much", short(found?.1))));
    let told: Vec<String> = told.collect();
    let threads = scaling.first()?.0.number("threads")?;
    let text = format!("{} {} as one", counted(threads, "thread"), told.join(" and "));
    let writers = keyed("one_writer_").next().and_then(|line| line.value.as_ref()?.switch());
    let writers = writers.map(|one| if one { "one write" } else { "several writes" });
    Some(text + &writers.map(|writes| format!(", and a file takes {writes} at a time")).unwrap_or_default())
}

/// What the sheet says about commits in a power cut, if that is known.
fn verdict(summary: &IoSummary) -> Option<&str> {
    line(summary, "durability")?.value.as_ref()?.text()
}

/// What makes commits worthless.
fn durability(summary: &IoSummary) -> Option<&'static str> {
    match (line(summary, "durability"), verdict(summary)) {
        (_, Some("durable")) => None,
        (_, Some("memory")) => {
            Some("but memory acknowledges them, so a power cut may lose committed data unless that memory is protected")
        }
        (_, Some(_)) => Some("but a flush does not reach the device, so a power cut may lose committed data"),
        (Some(_), None) => commits(summary).map(|_| "whether they survive a power cut is not known"),
        // Sheets of earlier versions have the grounds alone.
        (None, None) => {
            let warns = |line: &SheetLine| line.topic == "Durability" && line.warning;
            summary.sheet.iter().any(warns).then_some("but a power cut may lose committed data")
        }
    }
}
