//! One private server in use: opened (initialised and started if necessary), watched, stopped.

use crate::bootstrap::Installation;
use crate::confine::Confinement;
use crate::directory::{ProcessRecord, Record, ServerDirectory, last_lines, remove_tree};
use crate::error::DuringServer;
use crate::heard::Heard;
use crate::opening::{Opening, OpeningWatch, StartPatience};
use crate::process::{self, Ending};
use crate::stand_still::StandStill;
use crate::{ServerError, Settings, template};
use plimsoll_host::lock::Lock;
use plimsoll_host::process::{Identity, Lifetime, kill_family, scrub, spawn};
use plimsoll_host::replace::rename;
use plimsoll_host::{Home, facts, sample};
use plimsoll_model::Build;
use plimsoll_model::text::clean;
use plimsoll_model::{Flavour, OpeningStep};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);
/// How long a server may flush at the end before it is killed (it would recover).
const STOPS_WITHIN: Duration = Duration::from_secs(120);
/// A server that is up greets at once.
const GREETING_WITHIN: Duration = Duration::from_secs(2);

/// A private server that is up and whose lock is ours.
///
/// Dropping it stops the server, if it was started here and is not to be kept, and waits until it is down.
#[derive(Debug)]
pub struct PrivateServer {
    directory: ServerDirectory,
    build: Build,
    socket: PathBuf,
    identity: Identity,
    child: Option<Child>,
    /// For a server that lives no longer than this process.
    heard: Option<Heard>,
    kept: bool,
    settings_applied: bool,
    _lock: Arc<Lock>,
}

impl PrivateServer {
    /// Opens the private server `name` of `home`: creates its data with `build` if there are none, starts it
    /// with `settings` if it is down, attaches to it if `server start` has left it up.
    ///
    /// # Errors
    /// [`ServerError::Locked`] when another Plimsoll uses it, [`ServerError::OtherBuild`] when its data were
    /// made by another series, [`ServerError::Foreign`] when the directory is not Plimsoll's,
    /// [`ServerError::StartFailed`], [`ServerError::StartTimeout`] and [`ServerError::Hung`] with what the error log says.
    pub fn open(
        home: &Home,
        name: &str,
        build: &Build,
        settings: &Settings,
        opening: Opening,
    ) -> Result<PrivateServer, ServerError> {
        let directory = ServerDirectory::prepare(home, name)?;
        let lock = Arc::new(directory.lock(opening.holder)?);
        let record = directory.record()?;
        check_data(&directory, build)?;
        // From here on the directory is ours, whatever happens.
        directory.write_record(&record)?;
        match directory.kept(&record) {
            Some(process) => PrivateServer::attach(directory, process.clone(), settings, lock),
            None => PrivateServer::open_locked(home, directory, lock, build, settings, opening),
        }
    }

    /// Opens the server of a directory whose lock is held, without attaching to a running one.
    pub(crate) fn open_locked(
        home: &Home,
        directory: ServerDirectory,
        lock: Arc<Lock>,
        build: &Build,
        settings: &Settings,
        mut opening: Opening,
    ) -> Result<PrivateServer, ServerError> {
        let mut watch = OpeningWatch { name: directory.name().to_owned(), progress: &mut opening.progress };
        // A server that still runs lost its Plimsoll: nobody vouches for its configuration.
        directory.bring_down(STOPS_WITHIN)?;
        if directory.data_build()?.is_none() {
            make_data(home, &directory, build, settings, &mut watch)?;
        }
        let socket = home.socket(directory.name())?;
        directory.sweep(Some(&socket))?;
        let start = Start {
            directory: &directory,
            build,
            socket: &socket,
            lifetime: opening.lifetime,
            confinement: &opening.confinement,
        };
        let Started { child, heard, identity } = start.run(settings, opening.patience, &mut watch)?;
        Ok(PrivateServer {
            kept: opening.lifetime == Lifetime::UntilStopped,
            build: build.clone(),
            child: Some(child),
            heard,
            settings_applied: true,
            directory,
            socket,
            identity,
            _lock: lock,
        })
    }

    fn attach(
        directory: ServerDirectory,
        process: ProcessRecord,
        settings: &Settings,
        lock: Arc<Lock>,
    ) -> Result<PrivateServer, ServerError> {
        if !answers(&process.socket) {
            return Err(ServerError::Unreachable {
                name: directory.name().to_owned(),
                pid: process.identity.pid,
                socket: process.socket,
            });
        }
        let asked = my_cnf(&directory, &process.build, &process.socket, settings);
        let settings_applied = fs::read_to_string(directory.my_cnf()).is_ok_and(|text| text == asked);
        let ProcessRecord { identity, build, socket, .. } = process;
        Ok(PrivateServer {
            directory,
            build,
            socket,
            identity,
            child: None,
            heard: None,
            kept: true,
            settings_applied,
            _lock: lock,
        })
    }

    pub fn name(&self) -> &str {
        self.directory.name()
    }

    /// The running build; if attached, the one that was started.
    pub fn build(&self) -> &Build {
        &self.build
    }

    pub fn directory(&self) -> &ServerDirectory {
        &self.directory
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn pid(&self) -> u32 {
        self.identity.pid
    }

    /// Whether the server still runs. Cheap enough to ask every second.
    pub fn is_alive(&self) -> bool {
        self.identity.is_alive()
    }

    /// Whether this value started the server instead of finding it running.
    pub fn started_here(&self) -> bool {
        self.child.is_some()
    }

    /// Whether the server runs with the requested settings. Only a server that was found running may not.
    pub fn settings_applied(&self) -> bool {
        self.settings_applied
    }

    /// The last `lines` lines of the error log of this start, without control characters.
    pub fn error_log_tail(&self, lines: usize) -> String {
        match &self.heard {
            Some(heard) => last_lines(&String::from_utf8_lossy(&heard.end()), lines),
            None => self.directory.error_log_tail(lines),
        }
    }

    /// The server's first complaint since it was ready, from its error log; none if there is none.
    pub fn first_complaint(&self) -> Option<String> {
        match &self.heard {
            Some(heard) => heard.first_complaint().map(|line| clean(&line)),
            None => self.directory.first_complaint(),
        }
    }

    /// Stops the server, even one that was found running: SIGTERM, then SIGKILL after `patience`.
    ///
    /// # Errors
    /// [`ServerError::WillNotEnd`], or [`HostError::Io`] when the record cannot be written.
    pub fn stop(mut self, patience: Duration) -> Result<Ending, ServerError> {
        self.kept = true; // nothing is left for Drop to do
        self.bring_down(patience)
    }

    /// Kills the server with SIGKILL, as a crash would, and waits until it is gone.
    ///
    /// # Errors
    /// As [`PrivateServer::stop`].
    pub fn kill(mut self) -> Result<Ending, ServerError> {
        let ending = self.strike_down()?;
        self.directory.settle(&self.socket)?;
        Ok(ending)
    }

    /// The same for a server whose storage may be gone: nothing is noted there.
    ///
    /// # Errors
    /// [`ServerError::WillNotEnd`] if it does not end.
    pub fn bury(mut self) -> Result<(), ServerError> {
        self.strike_down().map(drop)
    }

    fn strike_down(&mut self) -> Result<Ending, ServerError> {
        self.kept = true; // nothing is left for Drop to do
        let ending = process::kill(self.directory.name(), &self.identity, &self.directory.my_cnf())?;
        self.has_ended();
        Ok(ending)
    }

    fn bring_down(&mut self, patience: Duration) -> Result<Ending, ServerError> {
        let ending = process::end(self.directory.name(), &self.identity, &self.directory.my_cnf(), patience)?;
        self.has_ended();
        self.directory.settle(&self.socket)?;
        Ok(ending)
    }

    /// Takes note of the end of its process, and passes on what it said last.
    fn has_ended(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
        self.heard.iter().for_each(Heard::pass_on);
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if !self.kept {
            // `clean` finds a server that does not end; there is nobody here to tell.
            let _ = self.bring_down(STOPS_WITHIN);
        }
    }
}

fn check_data(directory: &ServerDirectory, build: &Build) -> Result<(), ServerError> {
    match directory.data_build()? {
        Some(data) if !build.may_open_data_of(&data) => Err(ServerError::OtherBuild {
            name: directory.name().to_owned(),
            path: directory.path().to_owned(),
            data: data.to_string(),
            build: build.to_string(),
        }),
        _ => Ok(()),
    }
}

fn make_data(
    home: &Home,
    directory: &ServerDirectory,
    build: &Build,
    settings: &Settings,
    watch: &mut OpeningWatch,
) -> Result<(), ServerError> {
    let template = template::obtain(home, build, settings, watch)?;
    watch.tell(OpeningStep::Copying, Duration::ZERO)?;
    let half = directory.half_made_data();
    let made = template::copy(&template, &half)
        .and_then(|()| ServerDirectory::mark_data(&half, build))
        .and_then(|()| rename(&half, &directory.data()).during("rename to", &directory.data()));
    if made.is_err() {
        // The disk may be full: free what the attempt took.
        let _ = remove_tree(&half);
    }
    made
}

fn my_cnf(directory: &ServerDirectory, build: &Build, socket: &Path, settings: &Settings) -> String {
    let text = |path: &Path| path.display().to_string();
    let mut places = vec![
        ("datadir", text(&directory.data())),
        ("socket", text(socket)),
        ("pid_file", text(&directory.pid_file())),
        // In some packages, a directory that need not exist is compiled in.
        ("secure_file_priv", text(&directory.tmp())),
    ];
    if settings.get("tmpdir").is_none() {
        places.push(("tmpdir", text(&directory.tmp())));
    }
    if geteuid().is_root() {
        places.push(("user", "root".to_owned()));
    }
    if build.flavour == Flavour::MariaDb {
        let told = Installation::of(build).map(|installation| installation.places()).unwrap_or_default();
        places.extend(told.into_iter().filter(|(name, _)| settings.get(name).is_none()));
    }
    settings.rendered(&places)
}

/// A server that has just been started.
struct Started {
    child: Child,
    heard: Option<Heard>,
    identity: Identity,
}

/// One start of a server whose data are in place and whose lock is held.
struct Start<'s> {
    directory: &'s ServerDirectory,
    build: &'s Build,
    socket: &'s Path,
    lifetime: Lifetime,
    confinement: &'s Confinement,
}

impl Start<'_> {
    fn run(
        &self,
        settings: &Settings,
        patience: StartPatience,
        watch: &mut OpeningWatch,
    ) -> Result<Started, ServerError> {
        let (mut child, heard) = self.launch(settings)?;
        match self.wait(&mut child, heard.as_ref(), patience, watch) {
            Ok(identity) => Ok(Started { child, heard, identity }),
            Err(error) => {
                kill_family(&mut child);
                let _ = self.directory.settle(self.socket);
                Err(error)
            }
        }
    }

    fn launch(&self, settings: &Settings) -> Result<(Child, Option<Heard>), ServerError> {
        let directory = self.directory;
        DirBuilder::new().mode(0o700).create(directory.tmp()).during("create", &directory.tmp())?;
        let config = directory.my_cnf();
        fs::write(&config, my_cnf(directory, self.build, self.socket, settings)).during("write", &config)?;
        let log = directory.error_log();
        // A log covers one start; the previous one is kept for diagnosis.
        match rename(&log, &directory.path().join("error.log.1")) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e).during("rename", &log),
            _ => {}
        }
        let mut output = File::options().create_new(true).append(true).open(&log).during("create", &log)?;
        let mut heard = None;
        if self.lifetime == Lifetime::WithPlimsoll {
            let (ears, mouth) = Heard::listen(output).during("write", &log)?;
            (heard, output) = (Some(ears), mouth);
        }
        let mut command = Command::new(&self.build.binary);
        scrub(&mut command, directory.path(), &directory.tmp());
        command.arg(format!("--defaults-file={}", config.display()));
        command.stdout(output.try_clone().during("open", &log)?).stderr(output);
        self.confinement.apply(&mut command, directory)?;
        Ok((spawn(command, self.lifetime).during("run", &self.build.binary)?, heard))
    }

    fn wait(
        &self,
        child: &mut Child,
        heard: Option<&Heard>,
        StartPatience { ready_within, hung_after }: StartPatience,
        watch: &mut OpeningWatch,
    ) -> Result<Identity, ServerError> {
        let begun = Instant::now();
        let name = || self.directory.name().to_owned();
        let failed = |found: String, reason: String| ServerError::StartFailed {
            name: name(),
            found,
            reason,
            log: self.directory.error_log(),
        };
        let mut written = false;
        let mut stand_still = StandStill::of(child.id());
        loop {
            if let Some(status) = child.try_wait().during("wait for", &self.build.binary)? {
                heard.into_iter().for_each(Heard::pass_on);
                return Err(failed(status.to_string(), self.directory.complaint()));
            }
            // Recorded before it is ready, as not kept: if Plimsoll is killed now, `clean` finds it.
            if !written && let Some(identity) = Identity::of(child.id()) {
                self.write_down(identity, false)?;
                written = true;
            }
            if let Some(pid) = greeting_pid(self.socket) {
                let identity = Identity::of(pid).filter(|_| pid == child.id()).ok_or_else(|| {
                    let reason = "a launcher must `exec` the server".to_owned();
                    failed(format!("pid {pid} answers, but pid {} was started", child.id()), reason)
                })?;
                if let Some(found) = self.confinement.not_in_effect(self.directory, &identity) {
                    return Err(failed(found, "a requested limit is not in effect".to_owned()));
                }
                self.write_down(identity.clone(), self.lifetime == Lifetime::UntilStopped)?;
                watch.tell(OpeningStep::Ready, begun.elapsed())?;
                return Ok(identity);
            }
            let (waited, idle) = (begun.elapsed(), stand_still.look());
            if waited > ready_within || idle > hung_after {
                heard.into_iter().for_each(Heard::pass_on);
                let (name, reason, log) = (name(), self.directory.complaint(), self.directory.error_log());
                return Err(match waited > ready_within {
                    true => ServerError::StartTimeout { name, waited: ready_within, reason, log },
                    false => ServerError::Hung { name, idle, reason, log },
                });
            }
            watch.tell(OpeningStep::Starting, begun.elapsed())?;
            thread::sleep(POLL);
        }
    }

    fn write_down(&self, identity: Identity, kept: bool) -> Result<(), ServerError> {
        let process = ProcessRecord {
            identity,
            build: self.build.clone(),
            socket: self.socket.to_owned(),
            started_at: facts::utc_now(),
            kept,
        };
        self.directory.write_record(&Record { plimsoll_server: 1, process: Some(process) })
    }
}

/// Whether a server greets on `socket`.
fn answers(socket: &Path) -> bool {
    greeting_pid(socket).is_some()
}

/// The pid of the server that greets on `socket` in protocol version 10; none while none does.
fn greeting_pid(socket: &Path) -> Option<u32> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(GREETING_WITHIN)).ok()?;
    let mut head = [0u8; 5];
    stream.read_exact(&mut head).ok()?;
    // Four bytes of packet header, then the protocol version.
    (head[4] == 10).then(|| sample::local_server_pid(&stream))?
}
