//! Reports: made on request, one at a time, and kept while their recording does not change.

use crate::apart::apart;
use crate::page::Refused;
use jiff::Timestamp;
use plimsoll_analysis::{AnalysisError, ParametersOf, recorded};
use plimsoll_record::read::{self, Entry};
use plimsoll_report::document::Document;
use plimsoll_report::subject::Recorded;
use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex;

/// The most reports that are kept.
const KEPT: usize = 4;
/// How long the report of a growing recording is reused.
const FRESH: Duration = Duration::from_secs(2);

/// What a report was made from. A finished recording changes only with its manifest: when its lab is resumed.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    id: String,
    modified: Option<SystemTime>,
    growing: bool,
}

#[derive(Debug)]
struct Kept {
    key: Key,
    made: Instant,
    document: Arc<Document>,
}

/// The most recent reports.
#[derive(Clone, Debug)]
pub struct Documents {
    parameters_of: ParametersOf,
    kept: Arc<Mutex<VecDeque<Kept>>>,
}

impl Documents {
    /// `parameters_of` returns the parameters of a workload.
    pub fn new(parameters_of: ParametersOf) -> Documents {
        Documents { parameters_of, kept: Arc::default() }
    }

    /// The report of a recording. Others wait meanwhile, without a thread: a report takes a core that a measurement may
    /// need, and other pages need the threads. It is completed even if nobody waits for it any more.
    ///
    /// # Errors
    /// Why the recording cannot be reported.
    pub async fn of(&self, entry: Entry) -> Result<Arc<Document>, Refused> {
        let (mut kept, parameters_of) = (self.kept.clone().lock_owned().await, self.parameters_of);
        apart(move || {
            let key = Key::of(&entry);
            if let Some(known) = kept.iter().find(|known| known.still_is(&key)) {
                return Ok(known.document.clone());
            }
            let document = Arc::new(make(&entry, parameters_of).map_err(|error| Refused::failed(&error.to_string()))?);
            kept.retain(|known| known.key.id != key.id);
            kept.push_back(Kept { key, made: Instant::now(), document: document.clone() });
            let surplus = kept.len().saturating_sub(KEPT);
            kept.drain(..surplus);
            Ok(document)
        })
        .await
    }
}

impl Documents {
    /// Several recordings on one page.
    ///
    /// # Errors
    /// Why one of them cannot be reported.
    pub fn side_by_side(&self, entries: &[Entry]) -> Result<Document, Refused> {
        let of = |entry: &Entry| -> Result<Recorded, AnalysisError> {
            recorded(&read::open(&entry.directory)?, &generated(), self.parameters_of)
        };
        let all = entries.iter().map(of).collect::<Result<Vec<Recorded>, AnalysisError>>();
        let all = all.map_err(|error| Refused::failed(&error.to_string()))?;
        Ok(plimsoll_report::systems::document(&all))
    }
}

impl Key {
    fn of(entry: &Entry) -> Key {
        let manifest = fs::metadata(entry.directory.join("manifest.json"));
        let modified = manifest.and_then(|metadata| metadata.modified()).ok();
        Key { id: entry.id(), modified, growing: entry.being_written }
    }
}

impl Kept {
    fn still_is(&self, key: &Key) -> bool {
        self.key == *key && (!key.growing || self.made.elapsed() < FRESH)
    }
}

fn make(entry: &Entry, parameters_of: ParametersOf) -> Result<Document, AnalysisError> {
    let view = read::open(&entry.directory)?;
    Ok(plimsoll_report::document(&recorded(&view, &generated(), parameters_of)?))
}

/// When and by what a page was made.
pub fn generated() -> String {
    let now = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC");
    format!("{now} by Plimsoll {}", env!("CARGO_PKG_VERSION"))
}
