//! `plimsoll datasets`: manages the starting data of trials by hand.

use super::check::listed;
use super::{CHECK_FAILED, DONE};
use crate::args::{DatasetsAction, DatasetsArgs};
use crate::terminal::{self, Progress};
use plimsoll_data::datasets::{self, Choice, CopiedDataset, SaveRequest, Saved, ServerRates};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_server::snapshot::store::{self, Stored, StoredContent, StoredDescription};
use plimsoll_server::snapshot::tree::Way;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(args: DatasetsArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    match args.action {
        DatasetsAction::List { json } => list(&home, json),
        DatasetsAction::Rm { ids } => remove(&home, &ids),
        DatasetsAction::Save { name, server, method, json } => save(&home, &name, server.as_deref(), method, json),
        DatasetsAction::Clone { id, directory, json } => copy(&home, &id, &directory, json),
    }
}

fn list(home: &Home, json: bool) -> anyhow::Result<u8> {
    let all = store::list(home).map_err(LabError::from)?;
    if json {
        let rows: Vec<Value> = all.iter().map(row).collect();
        terminal::json(&rows)?;
        return Ok(DONE);
    }
    if all.is_empty() {
        terminal::note("no datasets; a lab creates those that it needs, `plimsoll datasets save` saves one by hand");
    }
    all.iter().try_for_each(|stored| terminal::result(&lines(stored)))?;
    Ok(DONE)
}

/// One line for the dataset, and one for each of its contents.
fn lines(stored: &Stored) -> String {
    let StoredDescription { id, build, made, origin, contents, .. } = &stored.description;
    let disk = megabytes(datasets::occupied(stored));
    let place = stored.home.path().display();
    let mut text = format!("{id:24} {} {}  {disk}  {made}  {origin}  {place}", build.flavour, build.version);
    for content in contents {
        text += &format!("\n    {}", content_line(content));
    }
    if contents.is_empty() {
        text += "\n    no data that Plimsoll loaded";
    }
    text
}

/// What it is, with the parameters that differ from the defaults.
fn content_line(content: &StoredContent) -> String {
    let chosen = datasets::chosen_parameters(content);
    let pairs = chosen.iter().map(|(name, value)| format!("{}={value}, ", name.replace('_', "-")));
    let StoredContent { database, family, seed, .. } = content;
    format!("{family} in `{database}`: {}seed={seed}", pairs.collect::<String>())
}

fn row(stored: &Stored) -> Value {
    json!({
        "home": stored.home.path(), "directory": stored.directory, "bytes_on_disk": datasets::occupied(stored),
        "dataset": stored.description,
    })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn remove(home: &Home, ids: &[String]) -> anyhow::Result<u8> {
    // All are found before any is removed.
    for stored in datasets::named(home, ids)? {
        store::delete(&stored.home, &stored.description.id).map_err(LabError::from)?;
        terminal::note(&format!("removed {} from {}", stored.description.id, stored.home.path().display()));
    }
    Ok(DONE)
}

fn save(home: &Home, name: &str, server: Option<&str>, method: Choice, json: bool) -> anyhow::Result<u8> {
    let mut progress = Progress::new(0)?;
    let holder = format!("plimsoll datasets save {name}");
    let saved = datasets::save(home, &SaveRequest { name, server, method, holder: &holder }, &mut progress);
    progress.clear();
    let saved = saved?;
    match json {
        true => terminal::json(&document(name, &saved))?,
        false => terminal::result(&told(name, &saved))?,
    }
    Ok(if saved.stored.is_some() { DONE } else { CHECK_FAILED })
}

/// What was saved, for a person.
fn told(name: &str, saved: &Saved) -> String {
    let Saved { server, method, checked, cost, .. } = saved;
    let mut text = String::new();
    for part in checked {
        text += &format!("{} in `{}`\n{}\n", part.family, part.database, listed(&part.findings));
    }
    if checked.is_empty() {
        text += "it has no data that Plimsoll loaded, so nothing was checked\n";
    }
    text += &format!("{:8}{:>14}{:>14}{:>10}\n", "", "queries/s", "commits/s", "seconds");
    for (when, ServerRates { seconds, queries_per_second, commits_per_second }) in
        [("before", cost.before), ("during", cost.during), ("after", cost.after)]
    {
        text += &format!("{when:8}{queries_per_second:>14.1}{commits_per_second:>14.1}{seconds:>10.2}\n");
    }
    let took = match saved.stopped {
        Some(stopped) => format!("while it was paused for {:.0} ms", stopped.as_secs_f64() * 1e3),
        None => "while it kept running".to_owned(),
    };
    text += &format!(
        "{server} was copied by {} in {:.2} s, {took}; the copy was up {:.1} s after it was started\n",
        method.name(),
        saved.copied.as_secs_f64(),
        saved.started.as_secs_f64()
    );
    match &saved.stored {
        Some(stored) => text += &format!("saved as {name}, {}", megabytes(stored.description.bytes)),
        None => text += "the copy failed its check and was removed",
    }
    text
}

fn document(name: &str, saved: &Saved) -> Value {
    json!({
        "schema_version": 1,
        "id": name,
        "saved": saved.stored.is_some(),
        "directory": saved.stored.as_ref().map(|stored| &stored.directory),
        "bytes": saved.stored.as_ref().map(|stored| stored.description.bytes),
        "server": saved.server,
        "method": saved.method,
        "stopped_seconds": saved.stopped.map(|stopped| stopped.as_secs_f64()),
        "copied_seconds": saved.copied.as_secs_f64(),
        "started_seconds": saved.started.as_secs_f64(),
        "cost": saved.cost,
        "checked": saved.checked,
        "broken": saved.broken(),
    })
}

fn copy(home: &Home, id: &str, directory: &Path, json: bool) -> anyhow::Result<u8> {
    let mut progress = Progress::new(0)?;
    let copied = datasets::copy(home, id, directory, &mut progress);
    progress.clear();
    let CopiedDataset { stored, way, took } = copied?;
    let (id, method, seconds) = (&stored.description.id, name_of(way), took.as_secs_f64());
    if json {
        let document = json!({
            "schema_version": 1, "id": id, "directory": stored.directory, "bytes": stored.description.bytes,
            "method": method, "seconds": seconds,
        });
        terminal::json(&document)?;
    } else {
        let size = megabytes(stored.description.bytes);
        terminal::note(&format!("{id}: {size} copied by {method}, every file verified equal, in {seconds:.1} s"));
        terminal::result(&stored.directory.display().to_string())?;
    }
    Ok(DONE)
}

fn name_of(way: Way) -> &'static str {
    match way {
        Way::Reflink => "reflink",
        Way::BtrfsSnapshot => "btrfs-snapshot",
        Way::Copy => "copy",
    }
}
