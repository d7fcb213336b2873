//! The event `replica`: a second server follows the trial's, on a copy of its data; under load the link between them is
//! cut, the primary is killed a moment later, and what the replica had received by then is what there is.
//!
//! Begin with [`Replica::beside`]. The primary has no network: the replica reaches its socket over a [`Cable`], as root
//! and without a password, as everybody does who may use a private server.

use super::super::watch::Watch;
use super::super::watchdog::Victim;
use super::super::{ServerSetup, UnderWay, limits};
use super::environment;
use super::strike::drawn;
use crate::error::LabError;
use crate::preflight::semi_sync::SemiSyncNames;
use plimsoll_data::target::{OpenTarget, private_endpoint};
use plimsoll_engine::control::Control;
use plimsoll_lanes::cable::Cable;
use plimsoll_model::crash::CutOff;
use plimsoll_model::samples::Phase;
use plimsoll_model::{FaultKind, Flavour, OpeningStep};
use plimsoll_plan::knowledge::value::truth;
use plimsoll_record::TrialWriter;
use plimsoll_server::snapshot::tree;
use plimsoll_server::{Opening, PrivateServer, Settings, TrialDirectory};
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::rows::TextRows;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The origin of the settings of a pair.
const ORIGIN: &str = "the fault replica";
/// Longer than any trial, milliseconds.
const NEVER: &str = "86400000";
const LOOK: Duration = Duration::from_millis(20);
/// The primary goes on for a time between these without its replica, milliseconds.
const ALONE: RangeInclusive<u64> = 200..=1000;
/// A replica that has read everything and has applied nothing for this time has only the beginning of a transaction left.
const IDLE: Duration = Duration::from_secs(2);
/// What an applier says that has read everything.
const READ_ALL: &str = "has read all relay log";
/// Lines of its error log that are kept.
const LOG_LINES: usize = 2000;
/// What a server is known by; a copy that had it would claim to be the same.
const IDENTITY: &str = "auto.cnf";

/// Gives the settings of a trial's server what a primary needs; what the plan asks for stays.
///
/// # Errors
/// As [`Settings::set`].
pub fn make_primary(settings: &mut Settings, flavour: Flavour) -> Result<(), LabError> {
    if settings.get("log_bin").is_none_or(|setting| truth(&setting.value) == Some(false)) {
        settings.set("log_bin", "ON", ORIGIN)?;
    }
    let names = SemiSyncNames::of(flavour);
    let mut wanted = vec![("server_id", "1")];
    if names.is_asked(settings) {
        wanted.extend([(names.timeout, NEVER), (names.wait_point, "AFTER_SYNC")]);
    }
    for (name, value) in wanted {
        if settings.get(name).is_none() {
            settings.set(name, value, ORIGIN)?;
        }
    }
    Ok(())
}

/// A replica of a trial's server, on the same machine.
pub struct Replica {
    directory: TrialDirectory,
    pair: Option<Pair>,
}

/// A replica that follows.
struct Pair {
    /// None once it has taken over.
    server: Option<PrivateServer>,
    settings: Settings,
    /// The sockets of the replica and of the primary.
    sockets: [PathBuf; 2],
    flavour: Flavour,
    cable: Cable,
}

/// Connections to both.
struct Both {
    replica: Control,
    primary: Control,
    words: Words,
    names: &'static SemiSyncNames,
}

impl Replica {
    /// Copies the data of a primary that is not started yet.
    ///
    /// # Errors
    /// Those of directories and copies; nothing is left then.
    pub fn beside(setup: &ServerSetup, watch: &mut Watch) -> Result<Replica, LabError> {
        let of_primary = &setup.directories.data;
        let name = format!("{}-replica", of_primary.directory().name());
        let directory = TrialDirectory::take(of_primary.home(), &name, setup.holder)?;
        watch.tell(Event::Doing("copying the data for the replica"));
        let (from, to) = (of_primary.data(), directory.data());
        let way = tree::fastest(&from, directory.directory().path());
        let is_wanted = |path: &Path| path != Path::new(IDENTITY);
        match tree::copy_part(&from, &to, way, &is_wanted, &mut || !watch.interrupted()) {
            Ok(_) => Ok(Replica { directory, pair: None }),
            Err(error) => {
                directory.remove()?;
                Err(error.into())
            }
        }
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.data()
    }

    /// Starts it, and has it follow the primary, into which nothing has been written yet.
    ///
    /// # Errors
    /// If it does not start, or does not follow.
    pub fn follow(&mut self, setup: &ServerSetup, primary: &OpenTarget, watch: &mut Watch) -> Result<(), LabError> {
        let Some(socket) = primary.server.as_ref().map(PrivateServer::socket) else {
            return Err(environment("only a private server can have a replica"));
        };
        let names = SemiSyncNames::of(setup.build.flavour);
        let waits = names.is_asked(&setup.settings);
        let mut settings = setup.settings.clone();
        let id = settings.get("server_id").and_then(|setting| setting.value.parse::<u32>().ok()).unwrap_or(1);
        settings.set("server_id", &id.wrapping_add(1).max(1).to_string(), ORIGIN)?;
        if waits {
            names.answer(&mut settings, ORIGIN)?;
        }
        let server = self.start(setup, &settings, watch)?;
        let pair = self.pair.insert(Pair {
            sockets: [server.socket(), socket].map(Path::to_owned),
            server: Some(server),
            settings,
            flavour: setup.build.flavour,
            cable: Cable::lay(socket)?,
        });
        let mut both = pair.connect()?;
        let from = both.written()?;
        both.tell(&both.words.follow(pair.cable.port(), &from))?;
        both.tell(&format!("START {}", both.words.replica))?;
        both.wait_until_it_follows(waits, watch)
    }

    fn start(&self, setup: &ServerSetup, settings: &Settings, watch: &mut Watch) -> Result<PrivateServer, LabError> {
        let told = |step: OpeningStep, since| {
            watch.tell(Event::Server { step, since });
            if watch.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let opening = Opening::new(setup.holder).ready_within(limits::START).confined(setup.confinement.clone());
        Ok(self.directory.open(setup.build, settings, opening.watched_by(told))?)
    }

    /// Cuts the link, and lets the primary go on for a while.
    ///
    /// # Errors
    /// If one of the two does not answer.
    pub fn cut_off(&self, seed: u64) -> Result<CutOff, LabError> {
        let pair = self.pair.as_ref().ok_or_else(missing)?;
        let mut both = pair.connect()?;
        let received = both.state()?.received;
        let written = both.written()?;
        let unreceived_bytes = (received.file == written.file).then(|| written.at.saturating_sub(received.at));
        let begun = Instant::now();
        pair.cable.cut();
        thread::sleep(drawn(seed, ALONE));
        // One whose time to wait is over has told clients of commits that no replica has.
        let semi_synchronous = both.status(both.names.status)?.as_deref() == Some("ON");
        Ok(CutOff { semi_synchronous, unreceived_bytes, cut_seconds: begun.elapsed().as_secs_f64() })
    }

    /// Has it apply all that it has received, and makes it a server of its own.
    ///
    /// # Errors
    /// If it stops applying, or does not answer; [`LabError::Interrupted`].
    pub fn take_over(&mut self, watch: &mut Watch, database: &str) -> Result<OpenTarget, LabError> {
        let pair = self.pair.as_mut().ok_or_else(missing)?;
        watch.watchdog.guard(pair.server.as_ref().and_then(Victim::of));
        let (mut control, words) = (connect(&pair.sockets[0])?, Words::of(pair.flavour));
        tell(&mut control, &format!("STOP {} IO_THREAD", words.replica))?;
        wait_until_it_has_applied(&mut control, words, watch)?;
        tell(&mut control, &format!("STOP {}", words.replica))?;
        tell(&mut control, &format!("RESET {} ALL", words.replica))?;
        let server = pair.server.take().ok_or_else(|| environment("the replica has taken over already"))?;
        Ok(OpenTarget::of_server(server, pair.settings.clone(), database)?)
    }

    /// Ends it if it still runs, keeps its error log, and removes its data.
    ///
    /// # Errors
    /// If it does not end, or something cannot be written or removed.
    pub fn remove(self, writer: &TrialWriter) -> Result<(), LabError> {
        let Replica { directory, pair } = self;
        let killed = pair.and_then(|pair| pair.server).map(PrivateServer::kill).transpose();
        let kept = writer.attach("replica-error.log", &directory.directory().error_log_tail(LOG_LINES));
        killed?;
        directory.remove()?;
        kept?;
        Ok(())
    }
}

/// A place in the primary's binary log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogPosition {
    file: String,
    at: u64,
}

/// What a replica says of itself.
struct ReplicaState {
    receives: bool,
    applies: bool,
    /// What its applier does.
    doing: String,
    received: LogPosition,
    applied: LogPosition,
    /// The last error of either half; empty if there is none.
    error: String,
}

impl Pair {
    fn connect(&self) -> Result<Both, LabError> {
        let [replica, primary] = &self.sockets;
        let (words, names) = (Words::of(self.flavour), SemiSyncNames::of(self.flavour));
        Ok(Both { replica: connect(replica)?, primary: connect(primary)?, words, names })
    }
}

impl Both {
    fn tell(&mut self, sql: &str) -> Result<(), LabError> {
        tell(&mut self.replica, sql)
    }

    /// The end of the primary's binary log.
    fn written(&mut self) -> Result<LogPosition, LabError> {
        let failed = |failure| LabError::sql("asking the primary for its binary log", &failure);
        let rows = self.primary.rows("SHOW BINARY LOGS").map_err(failed)?;
        let last = rows.pairs().last().and_then(|(file, size)| LogPosition::of(file, size));
        last.ok_or_else(|| environment("the primary has no binary log"))
    }

    fn status(&mut self, name: &str) -> Result<Option<String>, LabError> {
        let failed = |failure| LabError::sql("asking the primary how it replicates", &failure);
        let rows = self.primary.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).map_err(failed)?;
        Ok(rows.pairs().next().map(|(_, value)| value.to_owned()))
    }

    fn state(&mut self) -> Result<ReplicaState, LabError> {
        state(&mut self.replica, self.words)
    }

    /// Waits until it receives, and the primary waits for it if it is to.
    fn wait_until_it_follows(&mut self, waits: bool, watch: &Watch) -> Result<(), LabError> {
        let until = Instant::now() + limits::START;
        loop {
            let state = self.state()?;
            let is_awaited = !waits || self.status(self.names.clients)?.is_some_and(|count| count != "0");
            if state.receives && state.applies && is_awaited && state.received == self.written()? {
                return Ok(());
            }
            if Instant::now() > until {
                let limit = limits::START.as_secs();
                return Err(environment(format!("the replica does not follow after {limit} s: {}", state.error)));
            }
            pause(watch)?;
        }
    }
}

fn missing() -> LabError {
    environment("the trial has no replica")
}

fn connect(socket: &Path) -> Result<Control, LabError> {
    let failed = |failure| LabError::sql("logging in to a server of the pair", &failure);
    Control::open(&private_endpoint(socket)).map_err(failed)
}

fn tell(replica: &mut Control, sql: &str) -> Result<(), LabError> {
    replica.run(sql).map(drop).map_err(|failure| LabError::sql("telling the replica what to do", &failure))
}

fn state(replica: &mut Control, words: Words) -> Result<ReplicaState, LabError> {
    let failed = |failure| LabError::sql("asking the replica how far it is", &failure);
    let rows = replica.rows(&format!("SHOW {} STATUS", words.replica)).map_err(failed)?;
    words.state(&rows).ok_or_else(|| environment("the replica does not say how far it is"))
}

/// Waits until a replica that receives nothing any more has nothing left to apply.
fn wait_until_it_has_applied(replica: &mut Control, words: Words, watch: &Watch) -> Result<(), LabError> {
    let (mut applied, mut since) = (state(replica, words)?.applied, Instant::now());
    loop {
        let state = state(replica, words)?;
        if !state.applies {
            return Err(environment(format!("the replica stopped applying: {}", state.error)));
        }
        let is_idle = state.doing.contains(READ_ALL) && since.elapsed() >= IDLE;
        if state.applied == state.received || state.applied == applied && is_idle {
            return Ok(());
        }
        if state.applied != applied {
            (applied, since) = (state.applied, Instant::now());
        }
        pause(watch)?;
    }
}

impl LogPosition {
    fn of(file: &str, at: &str) -> Option<LogPosition> {
        Some(LogPosition { file: file.to_owned(), at: at.parse().ok()? })
    }
}

/// What a flavour calls the two (MySQL Reference Manual, "SQL Statements for Controlling Replica Servers"; MariaDB,
/// "Replication Commands").
#[derive(Clone, Copy)]
struct Words {
    source: &'static str,
    replica: &'static str,
    change: &'static str,
    /// What has to be said so that it needs neither TLS nor GTIDs.
    plain: &'static str,
}

impl Words {
    fn of(flavour: Flavour) -> Words {
        match flavour {
            Flavour::MariaDb => Words {
                source: "MASTER",
                replica: "SLAVE",
                change: "CHANGE MASTER TO",
                plain: ", MASTER_SSL_VERIFY_SERVER_CERT = 0, MASTER_USE_GTID = no",
            },
            Flavour::MySql => {
                Words { source: "SOURCE", replica: "REPLICA", change: "CHANGE REPLICATION SOURCE TO", plain: "" }
            }
        }
    }

    fn follow(&self, port: u16, from: &LogPosition) -> String {
        let Words { source: s, change, plain, .. } = self;
        let LogPosition { file, at } = from;
        format!(
            "{change} {s}_HOST = '127.0.0.1', {s}_PORT = {port}, {s}_USER = 'root', {s}_LOG_FILE = '{file}', \
             {s}_LOG_POS = {at}, {s}_CONNECT_RETRY = 1, {s}_SSL = 0{plain}"
        )
    }

    /// Reads SHOW REPLICA STATUS.
    fn state(&self, rows: &TextRows) -> Option<ReplicaState> {
        let named = rows.columns.iter().map(|name| name.to_ascii_uppercase());
        let cells: BTreeMap<String, &str> =
            named.zip(rows.rows.first()?).map(|(name, cell)| (name, cell.as_deref().unwrap_or_default())).collect();
        let cell = |name: String| cells.get(&name).copied().unwrap_or_default();
        let Words { source, replica, .. } = self;
        let errors = ["LAST_IO_ERROR", "LAST_SQL_ERROR"].map(|name| cell(name.to_owned()));
        Some(ReplicaState {
            receives: cell(format!("{replica}_IO_RUNNING")) == "Yes",
            applies: cell(format!("{replica}_SQL_RUNNING")) == "Yes",
            doing: cell(format!("{replica}_SQL_RUNNING_STATE")).to_owned(),
            received: LogPosition::of(cell(format!("{source}_LOG_FILE")), cell(format!("READ_{source}_LOG_POS")))?,
            applied: LogPosition::of(cell(format!("RELAY_{source}_LOG_FILE")), cell(format!("EXEC_{source}_LOG_POS")))?,
            error: errors.into_iter().filter(|error| !error.is_empty()).collect::<Vec<_>>().join("; "),
        })
    }
}

fn pause(watch: &Watch) -> Result<(), LabError> {
    thread::sleep(LOOK);
    if watch.interrupted() { Err(LabError::Interrupted) } else { Ok(()) }
}

impl UnderWay<'_> {
    /// Whether the trial's server has a replica: where one takes over, and where what that costs is measured.
    pub(in super::super) fn has_replica(&self) -> bool {
        let asks = self.plan.crash.iter().any(|rules| rules.faults.contains(&FaultKind::Replica));
        asks && self.trial.fault.is_none_or(|fault| fault.kind == FaultKind::Replica)
    }

    /// Copies the data for its replica.
    pub(in super::super) fn prepare_replica(&mut self, setup: &ServerSetup) -> Result<(), LabError> {
        self.watch.enter(Phase::Restore);
        self.replica = Some(Replica::beside(setup, &mut self.watch)?);
        Ok(())
    }

    /// Ends its replica, if it has one.
    pub(in super::super) fn end_replica(&mut self) -> Result<(), LabError> {
        self.replica.take().map_or(Ok(()), |replica| replica.remove(&self.writer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::of_pairs as settings;

    #[test]
    fn a_primary_keeps_what_the_plan_asks_for() {
        let value = |settings: &Settings, name: &str| settings.get(name).map(|setting| setting.value.clone());
        let mut plain = settings(&[("log_bin", "OFF")]);
        make_primary(&mut plain, Flavour::MariaDb).unwrap();
        assert_eq!(value(&plain, "log_bin").as_deref(), Some("ON"));
        assert_eq!(value(&plain, "rpl_semi_sync_master_timeout"), None);
        let mut asked = settings(&[
            ("log_bin", "binlog"),
            ("server_id", "7"),
            ("rpl_semi_sync_source_enabled", "ON"),
            ("rpl_semi_sync_source_wait_point", "AFTER_COMMIT"),
        ]);
        make_primary(&mut asked, Flavour::MySql).unwrap();
        for (name, expected) in [
            ("log_bin", "binlog"),
            ("server_id", "7"),
            ("rpl_semi_sync_source_timeout", NEVER),
            ("rpl_semi_sync_source_wait_point", "AFTER_COMMIT"),
        ] {
            assert_eq!(value(&asked, name).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_replica_says_how_far_it_is() {
        let columns = [
            "Source_Log_File",
            "Read_Source_Log_Pos",
            "Relay_Source_Log_File",
            "Exec_Source_Log_Pos",
            "Replica_IO_Running",
            "Replica_SQL_Running",
            "Last_SQL_Error",
        ];
        let row = ["b.2", "900", "b.1", "800", "Yes", "No", "no such table"];
        let mut rows = TextRows::default();
        rows.columns = columns.map(str::to_owned).to_vec();
        rows.rows = vec![row.map(|cell| Some(cell.to_owned())).to_vec()];
        let state = Words::of(Flavour::MySql).state(&rows).unwrap();
        assert_eq!(state.received, LogPosition { file: "b.2".to_owned(), at: 900 });
        assert_eq!(state.applied, LogPosition { file: "b.1".to_owned(), at: 800 });
        assert!(state.receives && !state.applies);
        assert_eq!(state.error, "no such table");
        assert!(Words::of(Flavour::MariaDb).state(&rows).is_none(), "other names");
    }
}
