//! What a copy costs the server: its queries and commits per second before, during and after.

use super::source::connect;
use crate::DataError;
use plimsoll_engine::control::Control;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(200);
/// A paused server does not answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3600);

/// What a server did in a stretch of time, by the differences of its own counters (SHOW GLOBAL STATUS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ServerRates {
    pub seconds: f64,
    /// `Questions`, except those of the observer.
    pub queries_per_second: f64,
    /// `Com_commit`: COMMIT statements; autocommits are not in it.
    pub commits_per_second: f64,
}

/// The server's rates around a copy. Each stretch begins and ends with a sample, taken every 200 ms; `during` is from
/// the last sample before the copy to the first after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CopyCost {
    pub before: ServerRates,
    pub during: ServerRates,
    pub after: ServerRates,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    queries: u64,
    commits: u64,
}

impl Look {
    fn take(control: &mut Control) -> Result<Look, DataError> {
        let query = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Questions')";
        let rows = control.rows(query).map_err(|failure| DataError::sql("reading the server's counters", &failure))?;
        let value = |wanted: &str| {
            let found = rows.pairs().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.and_then(|(_, value)| value.parse().ok()).unwrap_or_default()
        };
        Ok(Look { at: Instant::now(), queries: value("Questions"), commits: value("Com_commit") })
    }
}

/// Samples a server every 200 ms until it is told to end.
pub struct ServerMeter {
    stop: Arc<AtomicBool>,
    looking: Option<JoinHandle<Result<Vec<Look>, DataError>>>,
}

impl ServerMeter {
    /// Begins to sample the server that listens on `socket`.
    pub fn begin(socket: &Path) -> ServerMeter {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, socket) = (Arc::clone(&stop), socket.to_owned());
        ServerMeter { stop, looking: Some(thread::spawn(move || look(&socket, &stopped))) }
    }

    /// The cost of a copy made from `begun` to `ended`.
    ///
    /// # Errors
    /// [`DataError::Environment`] if the server did not answer all the time.
    pub fn end(mut self, begun: Instant, ended: Instant) -> Result<CopyCost, DataError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(Ok(looks)) = self.looking.take().map(JoinHandle::join) else {
            return Err(DataError::Environment("the thread that samples the server died; this is a bug".to_owned()));
        };
        Ok(cost(&looks?, begun, ended))
    }
}

fn look(socket: &Path, stopped: &AtomicBool) -> Result<Vec<Look>, DataError> {
    let mut control = connect(socket)?;
    control.set_limit(ANSWERS_WITHIN);
    let mut looks = vec![Look::take(&mut control)?];
    while !stopped.load(Ordering::Relaxed) {
        thread::sleep(STEP);
        looks.push(Look::take(&mut control)?);
    }
    Ok(looks)
}

impl Drop for ServerMeter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(looking) = self.looking.take() {
            // Its result would only repeat why the copy failed.
            let _ = looking.join();
        }
    }
}

fn cost(looks: &[Look], begun: Instant, ended: Instant) -> CopyCost {
    let last_before = looks.iter().rposition(|look| look.at <= begun).unwrap_or_default();
    let first_after = looks.iter().position(|look| look.at >= ended).unwrap_or(looks.len().saturating_sub(1));
    let end = looks.len().saturating_sub(1);
    CopyCost {
        before: rates(&looks[..=last_before.min(end)]),
        during: rates(&looks[last_before.min(first_after)..=first_after]),
        after: rates(&looks[first_after..]),
    }
}

fn rates(looks: &[Look]) -> ServerRates {
    let ([first, ..], [.., last]) = (looks, looks) else { return ServerRates::default() };
    let seconds = last.at.duration_since(first.at).as_secs_f64();
    if seconds <= 0.0 {
        return ServerRates::default();
    }
    // Each sample after the first counts its own query.
    let own = looks.len() as u64 - 1;
    let queries = last.queries.saturating_sub(first.queries).saturating_sub(own);
    let commits = last.commits.saturating_sub(first.commits);
    ServerRates { seconds, queries_per_second: queries as f64 / seconds, commits_per_second: commits as f64 / seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_apart_by_the_copy() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let look = |ms, queries, commits| Look { at: at(ms), queries, commits };
        // 100 queries and 10 commits per step, then none while it is copied, each look counting itself.
        let looks = [look(0, 0, 0), look(200, 101, 10), look(400, 202, 20), look(1400, 203, 20), look(1600, 304, 30)];
        let found = cost(&looks, at(450), at(1300));
        assert_eq!(found.before, ServerRates { seconds: 0.4, queries_per_second: 500.0, commits_per_second: 50.0 });
        assert_eq!(found.during, ServerRates { seconds: 1.0, queries_per_second: 0.0, commits_per_second: 0.0 });
        assert_eq!(found.after, ServerRates { seconds: 0.2, queries_per_second: 500.0, commits_per_second: 50.0 });
        assert_eq!(cost(&looks[..1], at(0), at(0)), CopyCost::default(), "one look tells nothing");
    }
}
