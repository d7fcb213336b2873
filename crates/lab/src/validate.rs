//! Is the sheet right? A private server on the same directory commits and reads, to compare with what the probes
//! predict.

use crate::error::LabError;
use crate::run::run_chosen;
use crate::run_record::Naming;
use plimsoll_data::dataset;
use plimsoll_data::drop::drop as drop_data;
use plimsoll_data::load::load;
use plimsoll_data::target::{OpenTarget, TargetSpec, private_server};
use plimsoll_engine::endpoint::Password;
use plimsoll_evaluate::{EvaluateError, Validator};
use plimsoll_host::{Home, owner};
use plimsoll_model::io::{IoSummary, Prediction, Probe, Validated};
use plimsoll_model::summary::Point;
use plimsoll_model::{LoadPoint, Scalar};
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use plimsoll_plan::{Plan, RunPlan, Target};
use plimsoll_record::EarlyEnd;
use plimsoll_server::{ServerError, Settings};
use plimsoll_storage::EvaluationDirectory;
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DATABASE: &str = "validation";
/// Where a setting of this server comes from.
const ORIGIN: &str = "plimsoll io --validate";
/// The probes that predict: group commit and page reads. What was not probed is not validated.
const COMMITS: u8 = 2;
const READS: u8 = 6;
/// Sessions whose commits are compared, as in probe 2.
const COMMITTING: [usize; 3] = [1, 8, 64];
/// Sessions that read, as many as a depth of probe 6.
const READING: usize = 16;
/// A table on which commits need not read pages first.
const SMALL_ROWS: u64 = 10_000;
/// About 100 MB of rows, three times the buffer pool.
const LARGE_ROWS: u64 = 400_000;
const SECONDS: f64 = 8.0;
/// The time until the pages of the small table are in the buffer pool.
const WARM_UP_SECONDS: f64 = 2.0;
const LOAD_THREADS: usize = 2;
const SEED: u64 = 1;
/// Above this share a CPU counts as busy.
const BUSY: f64 = 0.9;
/// A clean shutdown writes every dirty page, one after the other on a slow device.
const STOPS_WITHIN: Duration = Duration::from_secs(300);
/// What the name of a redo log that MySQL has laid out for later ends with.
const SPARE: &str = "_tmp";
/// Bytes of a redo log that are copied at once.
const PIECE: usize = 1 << 20;

/// Servers whose commits and reads are compared with the predictions: `auto`, a path.
pub struct Servers<'a>(&'a [String]);

impl Servers<'_> {
    /// # Errors
    /// If one of them does not exist.
    pub fn find(choices: &[String]) -> Result<Servers<'_>, LabError> {
        choices.iter().try_for_each(|choice| private_server(choice).map(drop))?;
        Ok(Servers(choices))
    }
}

impl Validator for Servers<'_> {
    fn can_work_in(&self, place: &EvaluationDirectory) -> Result<(), EvaluateError> {
        if self.0.is_empty() {
            return Ok(());
        }
        owner::check(place.path()).map_err(|error| {
            EvaluateError::Environment(format!("--validate: no server can be started in the directory: {error}"))
        })
    }

    /// If a server cannot be measured, the results of those before it are kept.
    fn validate(
        &mut self,
        place: &EvaluationDirectory,
        summary: &mut IoSummary,
        watcher: &mut dyn Watcher,
    ) -> Result<(), EarlyEnd> {
        for choice in self.0 {
            watcher.tell(Event::Doing(&format!("validating with a private server ({choice})")));
            let done = with_server(choice, place, &summary.probes, &mut summary.validation, watcher);
            done.map_err(|error| match error {
                LabError::Interrupted => EarlyEnd::Interrupted,
                other => EarlyEnd::Failed(format!("validating with {choice}: {other}")),
            })?;
        }
        Ok(())
    }
}

fn with_server(
    choice: &str,
    place: &EvaluationDirectory,
    probes: &[Probe],
    found: &mut Vec<Validated>,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    // A home within the place: whatever the server leaves is removed with it.
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
    let is_predicted = |number| probes.iter().any(|probe| probe.probe == number);
    let mut server = Server { target: OpenTarget::open_with(&spec, &home, roomy, watcher)?, home };
    if is_predicted(COMMITS) {
        server.load("oltp_insert", SMALL_ROWS, watcher)?;
        server = server.settled(&spec, roomy, watcher)?;
        server.commits(probes, found, watcher)?;
    }
    if is_predicted(READS) {
        server.load("oltp_point_select", LARGE_ROWS, watcher)?;
        server.settled(&spec, tight, watcher)?.reads(probes, found, watcher)?;
    }
    Ok(())
}

/// A server that does not flush pages while commits are measured: the probes write the log alone. A small buffer pool
/// writes pages to have free ones; MySQL flushes from a tenth of dirty pages on, and both as their log fills.
fn roomy(settings: &mut Settings) -> Result<(), ServerError> {
    settings.set("innodb_adaptive_flushing", "OFF", ORIGIN)?;
    settings.set("innodb_max_dirty_pages_pct_lwm", "0", ORIGIN)?;
    with_pool(settings, "256M")
}

/// A small buffer pool, so that reads reach the storage.
fn tight(settings: &mut Settings) -> Result<(), ServerError> {
    with_pool(settings, "32M")
}

/// With logs that a small lane has room for.
fn with_pool(settings: &mut Settings, bytes: &str) -> Result<(), ServerError> {
    for name in ["innodb_log_file_size", "innodb_redo_log_capacity"] {
        if settings.get(name).is_some() {
            settings.set(name, "128M", ORIGIN)?;
        }
    }
    settings.set("innodb_buffer_pool_size", bytes, ORIGIN)?;
    settings.set("innodb_flush_method", "O_DIRECT", ORIGIN)
}

/// What a server's settings are changed to.
type Change = fn(&mut Settings) -> Result<(), ServerError>;

struct Server {
    target: OpenTarget,
    home: Home,
}

impl Server {
    /// The same server with these settings, in its long-term state: nothing is left to flush, and its redo log was
    /// written once.
    fn settled(mut self, spec: &TargetSpec, change: Change, watcher: &mut dyn Watcher) -> Result<Server, LabError> {
        if let Some(server) = self.target.server.take() {
            let data = server.directory().data();
            server.stop(STOPS_WITHIN)?;
            go_round(&data).map_err(|error| {
                LabError::Environment(format!("rewriting the redo log below {}: {error}", data.display()))
            })?;
        }
        let mut target = OpenTarget::open_with(spec, &self.home, change, watcher)?;
        target.enter_database()?;
        if let Some(server) = &target.server {
            let data = server.directory().data();
            fill_spare(&data).map_err(|error| {
                LabError::Environment(format!("writing the spare redo logs below {}: {error}", data.display()))
            })?;
        }
        Ok(Server { target, home: self.home })
    }

    fn commits(
        &mut self,
        probes: &[Probe],
        found: &mut Vec<Validated>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        let flavour = self.target.flavour.name();
        for point in self.run("oltp_insert", SMALL_ROWS, &COMMITTING, WARM_UP_SECONDS, watcher)? {
            let sessions = point.load.connections;
            let predicting = probes.iter().find(|probe| {
                let is = |param: &str, value: Scalar| probe.params.get(param) == Some(&value);
                probe.probe == COMMITS && is("server", flavour.into()) && is("committers", sessions.into())
            });
            let what = format!("commits at {sessions} session{}", if sessions == 1 { "" } else { "s" });
            let (reached, by_rate) = (point.transactions_per_second, |rate| Prediction::around(rate, sessions));
            found.push(self.beside(what, predicting, by_rate, reached, "1/s", &point));
        }
        Ok(())
    }

    /// Point selects that mostly miss the buffer pool; the pages that the server reads for them are counted.
    fn reads(
        &mut self,
        probes: &[Probe],
        found: &mut Vec<Validated>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        // No warm-up: its pages would count too.
        let before = self.pages_read()?;
        let points = self.run("oltp_point_select", LARGE_ROWS, &[READING], 0.0, watcher)?;
        let pages = self.pages_read()?.saturating_sub(before) as f64;
        for point in points {
            let is_it = |probe: &&Probe| probe.params.get("depth") == Some(&Scalar::from(READING));
            let predicting = probes.iter().filter(|probe| probe.probe == READS).find(is_it);
            let reached = (point.seconds > 0.0).then(|| pages / point.seconds);
            let what = format!("page reads at {READING} sessions");
            found.push(self.beside(what, predicting, Prediction::at_most, reached, "pages/s", &point));
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
        let chosen = ChosenWorkload::new(workload, &parameters(rows), None)?;
        if self.target.enter_database()? && dataset::marker(&mut self.target.control, chosen.family())?.is_some() {
            drop_data(&mut self.target, chosen.family())?;
        }
        load(&mut self.target, chosen.dataset(SEED).as_ref(), LOAD_THREADS, watcher)?;
        Ok(())
    }

    /// Each number of sessions for some seconds, after a warm-up.
    fn run(
        &mut self,
        workload: &str,
        rows: u64,
        sessions: &[usize],
        warmup_seconds: f64,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Point>, LabError> {
        let chosen = ChosenWorkload::new(workload, &parameters(rows), None)?;
        let marker = dataset::marker(&mut self.target.control, chosen.family())?;
        let plan = RunPlan {
            workload: workload.to_owned(),
            params: parameters(rows).into_iter().collect(),
            target: self.target.describe().to_owned(),
            database: None,
            points: LoadPoint::cross(sessions, &[]),
            arrivals: ArrivalSpread::Poisson,
            warmup_seconds,
            measure: Measure::Seconds(SECONDS),
            rounds: 1,
            seed: SEED,
            loops: 1,
            protocol: "prepared".to_owned(),
            outage_limit_seconds: 30.0,
            ignore_errors: Vec::new(),
            report_interval_seconds: 0,
            check: false,
            repeat_disturbed: false,
            fleet: None,
        };
        let naming = Naming { recording: "validation", kind: Plan::Run, tool_version: env!("CARGO_PKG_VERSION") };
        let finished = run_chosen(&mut self.target, &self.home, &plan, &chosen, marker.as_ref(), &naming, watcher)?;
        match finished.ended {
            Some(EarlyEnd::Failed(why)) => Err(LabError::Environment(why)),
            Some(EarlyEnd::Interrupted) => Err(LabError::Interrupted),
            None => Ok(finished.summary.points),
        }
    }

    fn beside(
        &self,
        what: String,
        predicting: Option<&Probe>,
        by_rate: impl Fn(f64) -> Prediction,
        reached: Option<f64>,
        unit: &str,
        point: &Point,
    ) -> Validated {
        let predicted = predicting.and_then(|probe| probe.iops).filter(|rate| *rate > 0.0).map(by_rate);
        Validated {
            what,
            server: format!("{} {}", self.target.flavour, self.target.version),
            sessions: point.load.connections,
            predicted: predicted.map(|predicted| predicted.high),
            predicted_low: predicted.and_then(|predicted| predicted.low),
            reached,
            unit: unit.to_owned(),
            cpu_bound: is_cpu_bound(point),
            remark: remark(predicted, reached).to_owned(),
            probes: predicting.iter().map(|probe| probe.id.clone()).collect(),
        }
    }
}

/// Writes all blocks of a stopped server's redo log, as its first pass would. Servers allocate them with fallocate(2);
/// the first write to such a block changes the file's extents, so that its fdatasync commits the file system's journal
/// too: more I/Os per commit than the server ever issues again.
fn go_round(data: &Path) -> io::Result<()> {
    for path in redo_logs(data)? {
        let written = data.join("redo.new");
        copy(&path, &written)?;
        fs::rename(&written, &path)?;
    }
    Ok(rustix::fs::syncfs(File::open(data)?)?)
}

/// Writes all blocks of the redo logs that a server which nobody uses has laid out for later: since 8.0.30 MySQL makes them
/// anew at each start. They hold zeros, and get zeros.
fn fill_spare(data: &Path) -> io::Result<()> {
    for path in redo_logs(data)?.into_iter().filter(|path| path.to_string_lossy().ends_with(SPARE)) {
        let file = File::options().write(true).open(&path)?;
        io::copy(&mut io::repeat(0).take(file.metadata()?.len()), &mut &file)?;
        file.sync_all()?;
    }
    Ok(())
}

/// `ib_logfile0`, and all in `#innodb_redo` since MySQL 8.0.30.
fn redo_logs(data: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = data.join("#innodb_redo");
    let (within, prefix) = if directory.is_dir() { (directory.as_path(), "#ib_redo") } else { (data, "ib_logfile") };
    let entries = fs::read_dir(within)?.collect::<io::Result<Vec<_>>>()?;
    let is_log = |name: &OsString| name.to_string_lossy().starts_with(prefix);
    Ok(entries.iter().filter(|entry| is_log(&entry.file_name())).map(|entry| entry.path()).collect())
}

/// Byte by byte: faster ways of copying may share blocks, or leave them unwritten.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut target) = (File::open(from)?, File::create_new(to)?);
    target.set_permissions(source.metadata()?.permissions())?;
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece)? {
            0 => return target.sync_all(),
            bytes => target.write_all(&piece[..bytes])?,
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

fn remark(predicted: Option<Prediction>, reached: Option<f64>) -> &'static str {
    let (Some(Prediction { low, high }), Some(reached)) = (predicted, reached) else {
        return "no probe predicts it: run its probes, too";
    };
    match low {
        _ if reached > high => "more than predicted",
        Some(low) if reached < low => "less than predicted",
        Some(_) => "as predicted",
        None => "within the bound",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::HostShares;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_prediction_is_a_range_or_a_bound() {
        let of = |predicted, reached| remark(Some(predicted), Some(reached));
        let range = [150.0, 170.0, 240.0, 250.0].map(|reached| of(Prediction::around(200.0, 8), reached));
        assert_eq!(range, ["less than predicted", "as predicted", "as predicted", "more than predicted"]);
        let bound = [1.0, 201.0].map(|reached| of(Prediction::at_most(200.0), reached));
        assert_eq!(bound, ["within the bound", "more than predicted"]);
        assert!(remark(None, Some(1.0)).starts_with("no probe predicts it"));
    }

    /// Bytes of the blocks that a file has.
    fn allocated(path: &Path) -> u64 {
        512 * std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap())
    }

    #[test]
    fn a_redo_log_that_went_round_holds_what_it_held_in_blocks_of_its_own() {
        let data = tempfile::tempdir().unwrap();
        let log = data.path().join("ib_logfile0");
        let mut file = File::create(&log).unwrap();
        file.write_all(b"begins").unwrap();
        file.set_len(3 << 20).unwrap();
        let before = fs::read(&log).unwrap();
        assert!(allocated(&log) < 3 << 20);
        go_round(data.path()).unwrap();
        assert_eq!(fs::read(&log).unwrap(), before);
        assert!(allocated(&log) >= 3 << 20, "{} bytes", allocated(&log));
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_logs_that_a_server_has_laid_out_for_later_are_written_and_no_others() {
        let data = tempfile::tempdir().unwrap();
        let logs = data.path().join("#innodb_redo");
        fs::create_dir(&logs).unwrap();
        let laid_out = |name: &str| {
            let path = logs.join(name);
            File::create(&path).unwrap().set_len(1 << 20).unwrap();
            path
        };
        let (used, spare) = (laid_out("#ib_redo1"), laid_out("#ib_redo2_tmp"));
        fill_spare(data.path()).unwrap();
        assert!(allocated(&used) < 1 << 20 && allocated(&spare) >= 1 << 20);
        assert_eq!(fs::read(&spare).unwrap(), vec![0; 1 << 20]);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused_before_anything_is_measured() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o777)).unwrap();
        let place = EvaluationDirectory::create(&root.path().join("home"), &data).unwrap();
        let choices = ["auto".to_owned()];
        let refusal = Servers(&choices).can_work_in(&place).unwrap_err().to_string();
        assert!(refusal.contains("--validate") && refusal.contains("others can write to it"), "{refusal}");
        assert!(Servers(&[]).can_work_in(&place).is_ok(), "nobody asked for a server");
    }

    #[test]
    fn a_busy_host_binds() {
        let host = |busy| Some(HostShares { cpus: 2, busy, user: busy, system: 0.0, iowait: 0.0, steal: 0.0 });
        assert!(is_cpu_bound(&Point { host: host(0.95), ..Point::default() }));
        assert!(!is_cpu_bound(&Point { host: host(0.5), ..Point::default() }));
    }
}
