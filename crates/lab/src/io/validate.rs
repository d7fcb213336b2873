//! Is the sheet right? A private server on the same directory commits and reads, beside what the probes predict.

use super::IoPlan;
use crate::dataset;
use crate::drop::drop as drop_data;
use crate::error::LabError;
use crate::load::load;
use crate::run::Naming;
use crate::subject::run_chosen;
use crate::target::{OpenTarget, TargetSpec};
use crate::trial::Ended;
use crate::watch::{Event, Watcher};
use plimsoll_engine::endpoint::Password;
use plimsoll_model::io::{Probe, Validated};
use plimsoll_model::summary::Point;
use plimsoll_plan::plan::{Measure, Spread};
use plimsoll_plan::points::cross;
use plimsoll_plan::{RunPlan, Target};
use plimsoll_server::{Home, ServerError, Settings};
use plimsoll_storage::Place;
use plimsoll_workloads::chosen::Chosen;
use serde_json::Value;
use std::ffi::OsString;

const DATABASE: &str = "validation";
/// Where a setting of this server comes from.
const ORIGIN: &str = "plimsoll io --validate";
/// Sessions whose commits are compared, as in probe 2.
const COMMITTING: [usize; 3] = [1, 8, 64];
/// Sessions that read, as many as a depth of probe 6.
const READING: usize = 16;
/// A table that takes its commits without reading pages first.
const SMALL_ROWS: u64 = 10_000;
/// About 200 MB of rows, many times the buffer pool.
const LARGE_ROWS: u64 = 800_000;
const SECONDS: f64 = 5.0;
const LOAD_THREADS: usize = 2;
const SEED: u64 = 1;
/// Above this share a CPU counts as busy.
const BUSY: f64 = 0.9;

/// What servers reach beside what is predicted; a server that cannot be measured says why.
pub(super) fn validate(plan: &IoPlan, place: &Place, probes: &[Probe], watcher: &mut dyn Watcher) -> Vec<Validated> {
    let mut all = Vec::new();
    for choice in &plan.validate {
        watcher.tell(Event::Doing(&format!("validating with a private server ({choice})")));
        if let Err(error) = with_server(choice, place, probes, &mut all, watcher) {
            all.push(failed(choice, &error));
        }
        if watcher.interrupted() {
            break;
        }
    }
    all
}

fn failed(choice: &str, error: &LabError) -> Validated {
    Validated {
        what: "everything else".to_owned(),
        server: choice.to_owned(),
        sessions: 0,
        predicted: None,
        reached: None,
        unit: String::new(),
        cpu_bound: false,
        remark: format!("could not be measured: {error}"),
        probes: Vec::new(),
    }
}

fn with_server(
    choice: &str,
    place: &Place,
    probes: &[Probe],
    found: &mut Vec<Validated>,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    // A home within the place: whatever the server leaves goes with it.
    let inside = OsString::from(place.path().join("validation"));
    let home = Home::resolve(|name| match name {
        "PLIMSOLL_HOME" => Some(inside.clone()),
        other => std::env::var_os(other),
    })?;
    let spec = TargetSpec {
        target: Target::Private(choice.to_owned()),
        password: Password::default(),
        default_user: "root".to_owned(),
        database: Some(DATABASE.to_owned()),
        holder: ORIGIN.to_owned(),
    };
    let mut server = Server { target: OpenTarget::open_with(&spec, &home, small, watcher)?, home };
    server.commits(probes, found, watcher)?;
    server.reads(probes, found, watcher)
}

/// A buffer pool that holds little, so that reads reach the storage, and logs that a small lane has room for.
fn small(settings: &mut Settings) -> Result<(), ServerError> {
    for name in ["innodb_log_file_size", "innodb_redo_log_capacity"] {
        if settings.get(name).is_some() {
            settings.set(name, "128M", ORIGIN)?;
        }
    }
    settings.set("innodb_buffer_pool_size", "32M", ORIGIN)?;
    settings.set("innodb_flush_method", "O_DIRECT", ORIGIN)
}

struct Server {
    target: OpenTarget,
    home: Home,
}

impl Server {
    fn commits(
        &mut self,
        probes: &[Probe],
        found: &mut Vec<Validated>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        let flavour = self.target.flavour.name();
        self.load("oltp_insert", SMALL_ROWS, watcher)?;
        for point in self.run("oltp_insert", SMALL_ROWS, &COMMITTING, watcher)? {
            let sessions = point.connections;
            let predicting = probes.iter().find(|probe| {
                let is = |param: &str, value: Value| probe.params.get(param) == Some(&value);
                probe.probe == 2 && is("server", flavour.into()) && is("committers", sessions.into())
            });
            let what = format!("commits at {sessions} session{}", if sessions == 1 { "" } else { "s" });
            found.push(self.beside(what, predicting, (point.transactions_per_second, "1/s"), &point));
        }
        Ok(())
    }

    /// Point selects of which most miss the buffer pool; what counts are the pages that the server reads for them.
    fn reads(
        &mut self,
        probes: &[Probe],
        found: &mut Vec<Validated>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        self.load("oltp_point_select", LARGE_ROWS, watcher)?;
        let before = self.pages_read()?;
        let points = self.run("oltp_point_select", LARGE_ROWS, &[READING], watcher)?;
        let pages = self.pages_read()?.saturating_sub(before) as f64;
        for point in points {
            let is_it = |probe: &&Probe| probe.params.get("depth") == Some(&Value::from(READING));
            let predicting = probes.iter().filter(|probe| probe.probe == 6).find(is_it);
            let reached = (point.seconds > 0.0).then(|| pages / point.seconds);
            let what = format!("page reads at {READING} sessions");
            found.push(self.beside(what, predicting, (reached, "pages/s"), &point));
        }
        Ok(())
    }

    fn pages_read(&mut self) -> Result<u64, LabError> {
        let rows = self.target.control.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'");
        let rows = rows.map_err(|failure| LabError::sql("asking the server for its page reads", &failure))?;
        Ok(rows.pairs().find_map(|(_, value)| value.parse().ok()).unwrap_or(0))
    }

    /// New data in place of what is there.
    fn load(&mut self, workload: &str, rows: u64, watcher: &mut dyn Watcher) -> Result<(), LabError> {
        let chosen = Chosen::new(workload, &parameters(rows), None)?;
        if self.target.enter_database()? && dataset::marker(&mut self.target.control, chosen.family())?.is_some() {
            drop_data(&mut self.target, chosen.family())?;
        }
        load(&mut self.target, chosen.dataset(SEED).as_ref(), LOAD_THREADS, watcher)?;
        Ok(())
    }

    /// Each number of sessions for some seconds.
    fn run(
        &mut self,
        workload: &str,
        rows: u64,
        sessions: &[usize],
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Point>, LabError> {
        let chosen = Chosen::new(workload, &parameters(rows), None)?;
        let marker = dataset::marker(&mut self.target.control, chosen.family())?;
        let plan = RunPlan {
            workload: workload.to_owned(),
            params: parameters(rows).into_iter().collect(),
            target: self.target.describe().to_owned(),
            points: cross(sessions, &[]),
            arrivals: Spread::Poisson,
            warmup_seconds: 0.0,
            measure: Measure::Seconds(SECONDS),
            seed: SEED,
            loops: 1,
            protocol: "prepared".to_owned(),
            outage_limit_seconds: 30.0,
            ignore_errors: Vec::new(),
            report_interval_seconds: 0,
        };
        let naming = Naming { recording: "validation", tool_version: env!("CARGO_PKG_VERSION") };
        let ready = (&chosen, marker.as_ref());
        let finished = run_chosen(&mut self.target, &self.home, &plan, ready, &naming, watcher)?;
        match finished.ended {
            Some(Ended::Failed(why)) => Err(LabError::Environment(why)),
            Some(Ended::Interrupted) => Err(LabError::Interrupted),
            None => Ok(finished.summary.points),
        }
    }

    fn beside(
        &self,
        what: String,
        predicting: Option<&Probe>,
        (reached, unit): (Option<f64>, &str),
        point: &Point,
    ) -> Validated {
        let predicted = predicting.and_then(|probe| probe.iops);
        let cpu_bound = is_cpu_bound(point);
        Validated {
            what,
            server: format!("{} {}", self.target.flavour, self.target.version),
            sessions: point.connections,
            predicted,
            reached,
            unit: unit.to_owned(),
            cpu_bound,
            remark: remark(predicted, reached, cpu_bound),
            probes: predicting.iter().map(|probe| probe.id.clone()).collect(),
        }
    }
}

fn parameters(rows: u64) -> Vec<(String, String)> {
    [("tables", "1".to_owned()), ("table-size", rows.to_string()), ("rand-type", "uniform".to_owned())]
        .map(|(name, text)| (name.to_owned(), text))
        .into()
}

/// Whether the CPUs of the host were the limit.
fn is_cpu_bound(point: &Point) -> bool {
    let server = point.server.as_ref().and_then(|server| server.cpus_busy);
    point.host.is_some_and(|host| host.busy > BUSY || server.is_some_and(|busy| busy > BUSY * host.cpus as f64))
}

fn remark(predicted: Option<f64>, reached: Option<f64>, cpu_bound: bool) -> String {
    let (Some(predicted), Some(reached)) = (predicted.filter(|rate| *rate > 0.0), reached) else {
        return "no probe predicts it: run its probes too".to_owned();
    };
    let percent = 100.0 * reached / predicted;
    let why = match (cpu_bound, reached < predicted) {
        (true, _) => ": the CPUs were the limit, not the storage",
        (false, true) => ", which is an upper bound",
        (false, false) => ", which ought to be an upper bound",
    };
    format!("reached {percent:.0} % of what is predicted{why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::HostShares;

    #[test]
    fn what_limited_a_server_is_said_in_words() {
        assert_eq!(
            remark(Some(200.0), Some(180.0), false),
            "reached 90 % of what is predicted, which is an upper bound"
        );
        assert!(remark(Some(20_000.0), Some(5_000.0), true).ends_with("the CPUs were the limit, not the storage"));
        assert!(remark(None, Some(1.0), false).starts_with("no probe predicts it"));
    }

    #[test]
    fn a_busy_host_binds() {
        let host = |busy| Some(HostShares { cpus: 2, busy, user: busy, system: 0.0, iowait: 0.0, steal: 0.0 });
        assert!(is_cpu_bound(&Point { host: host(0.95), ..Point::default() }));
        assert!(!is_cpu_bound(&Point { host: host(0.5), ..Point::default() }));
    }
}
