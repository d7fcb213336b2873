//! How each flavour turns an empty directory into a data directory whose only user is root@localhost
//! without a password.
//!
//! MySQL does it by itself. MariaDB runs the SQL scripts of its installation through `mariadbd --bootstrap`; we feed
//! them directly, because `mariadb-install-db` needs tools of another package and, if given a user, changes owner and
//! mode of the system's PAM helper.

use crate::error::DuringServer;
use crate::opening::OpeningWatch;
use crate::{ServerError, ServerSetting};
use plimsoll_host::process::{Lifetime, kill_family, scrub, spawn};
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_model::OpeningStep;
use plimsoll_model::text::clean;
use rustix::process::geteuid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

/// Creates a data directory at `scratch/data`; `scratch` exists and is empty. Takes 1 to 5 s.
///
/// # Errors
/// [`ServerError::InitialiseFailed`] with the server's own words; [`ServerError::Interrupted`].
pub(crate) fn initialise(
    build: &Build,
    fixed: &[&ServerSetting],
    scratch: &Path,
    watch: &mut OpeningWatch,
) -> Result<PathBuf, ServerError> {
    let data = scratch.join("data");
    let tmp = scratch.join("tmp");
    let log = scratch.join("log");
    fs::create_dir(&tmp).during("create", &tmp)?;
    let output = File::create(&log).during("create", &log)?;
    let mut command = Command::new(&build.binary);
    scrub(&mut command, scratch, &tmp);
    command.arg("--no-defaults");
    match build.flavour {
        Flavour::MariaDb => mariadb(&mut command, build, scratch, &data)?,
        Flavour::MySql => mysql(&mut command, build, &tmp),
    }
    command.arg(format!("--datadir={}", data.display())).arg(format!("--tmpdir={}", tmp.display()));
    // Nothing here needs to survive a crash, and a cache entry is only used when complete.
    command.args(["--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--skip-log-bin"]);
    for setting in fixed {
        command.arg(format!("--{}={}", setting.name, setting.value));
    }
    if geteuid().is_root() {
        command.arg("--user=root");
    }
    command.stderr(output.try_clone().during("open", &log)?).stdout(output);
    let status = run(command, build, watch)?;
    if !status.success() || !data.join("mysql").is_dir() {
        let words = fs::read_to_string(&log).unwrap_or_default();
        return Err(failed(build, format!("it ended with {status}: {}", complaint(&words))));
    }
    Ok(data)
}

fn run(command: Command, build: &Build, watch: &mut OpeningWatch) -> Result<ExitStatus, ServerError> {
    let mut child = spawn(command, Lifetime::WithPlimsoll).map_err(|e| failed(build, e.to_string()))?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| failed(build, e.to_string()))? {
            return Ok(status);
        }
        if let Err(interrupted) = watch.tell(OpeningStep::Initialising, begun.elapsed()) {
            kill_family(&mut child);
            return Err(interrupted);
        }
        thread::sleep(POLL);
    }
}

fn mysql(command: &mut Command, build: &Build, tmp: &Path) {
    command.arg("--initialize-insecure").arg(format!("--secure-file-priv={}", tmp.display()));
    if build.numbers() >= (8, 0, 30) {
        command.arg("--innodb-redo-log-capacity=16M");
    }
}

fn mariadb(command: &mut Command, build: &Build, scratch: &Path, data: &Path) -> Result<(), ServerError> {
    let installation = Installation::of(build)?;
    // One statement per line: the bootstrap reader knows no other separator.
    let mut sql = "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=null;\n".to_owned();
    for script in installation.scripts()? {
        let text = fs::read(&script).during("read", &script)?;
        // The scripts mark by this name the lines that add accounts for the host's own name.
        let lines = String::from_utf8_lossy(&text);
        for line in lines.lines().filter(|line| !line.contains("@current_hostname")) {
            sql.push_str(line);
            sql.push('\n');
        }
    }
    // Those without a password for 127.0.0.1 and ::1: a private server has one account.
    sql.push_str("delete from mysql.global_priv where Host in ('127.0.0.1', '::1');\n");
    let path = scratch.join("bootstrap.sql");
    fs::write(&path, sql).during("write", &path)?;
    fs::create_dir(data).during("create", data)?;
    command.stdin(Stdio::from(File::open(&path).during("open", &path)?));
    command.args(["--bootstrap", "--log-warnings=0", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M"]);
    command.args(["--max-allowed-packet=8M", "--net-buffer-length=16K", "--enforce-storage-engine="]);
    command.args(installation.places().into_iter().map(|(name, value)| format!("--{name}={value}")));
    Ok(())
}

/// Where a MariaDB keeps its scripts and messages.
pub(crate) struct Installation {
    basedir: PathBuf,
    share: PathBuf,
}

impl Installation {
    /// Finds the installation beside the binary, else where the binary says that it is (for a launcher).
    pub(crate) fn of(build: &Build) -> Result<Installation, ServerError> {
        let beside = build.binary.canonicalize().ok();
        let beside = beside.as_deref().and_then(Path::parent).and_then(Path::parent).and_then(Installation::below);
        let told = || reported_basedir(build).as_deref().and_then(Installation::below);
        beside.or_else(told).ok_or_else(|| {
            let what = "there is no share directory with `mariadb_system_tables.sql` or `mysql_system_tables.sql`, \
                        neither beside the binary nor in its basedir";
            failed(build, what.to_owned())
        })
    }

    fn below(basedir: &Path) -> Option<Installation> {
        ["share/mysql", "share/mariadb", "share"]
            .map(|share| Installation { basedir: basedir.to_owned(), share: basedir.join(share) })
            .into_iter()
            .find(|installation| installation.script("system_tables.sql").is_some())
    }

    /// Over the years, the scripts were renamed from `mysql_` to `mariadb_`.
    fn script(&self, name: &str) -> Option<PathBuf> {
        ["mariadb_", "mysql_", ""]
            .map(|prefix| self.share.join(format!("{prefix}{name}")))
            .into_iter()
            .find(|p| p.is_file())
    }

    fn scripts(&self) -> Result<Vec<PathBuf>, ServerError> {
        let needed = ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql"];
        // The help tables are left out: nobody asks a benchmark server for help.
        let wanted = ["maria_add_gis_sp_bootstrap.sql", "sys_schema.sql"];
        let mut scripts = Vec::new();
        for name in needed {
            scripts.push(self.script(name).ok_or_else(|| ServerError::InitialiseFailed {
                build: "MariaDB".to_owned(),
                reason: format!("`{}` has no `mysql_{name}`", self.share.display()),
            })?);
        }
        scripts.extend(wanted.into_iter().filter_map(|name| self.script(name)));
        Ok(scripts)
    }

    /// Options that an unpacked server needs, because it was compiled for /usr.
    pub(crate) fn places(&self) -> Vec<(&'static str, String)> {
        if self.basedir == Path::new("/usr") {
            return Vec::new();
        }
        vec![
            ("basedir", self.basedir.display().to_string()),
            ("lc_messages_dir", self.share.display().to_string()),
            ("character_sets_dir", self.share.join("charsets").display().to_string()),
        ]
    }
}

/// The `basedir` that the binary prints in its list of variables.
fn reported_basedir(build: &Build) -> Option<PathBuf> {
    let mut command = Command::new(&build.binary);
    scrub(&mut command, Path::new("/"), Path::new("/tmp"));
    command.args(["--no-defaults", "--user=root", "--verbose", "--help"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = spawn(command, Lifetime::WithPlimsoll).ok()?.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("basedir").filter(|rest| rest.starts_with(' ')))?;
    Some(PathBuf::from(line.trim().trim_end_matches('/')))
}

fn complaint(words: &str) -> String {
    let lines: Vec<&str> = words.lines().filter(|line| line.contains("ERROR")).collect();
    let lines = if lines.is_empty() { words.lines().collect() } else { lines };
    let shown: Vec<String> = lines.iter().take(6).map(|line| clean(line)).collect();
    if shown.is_empty() { "it said nothing".to_owned() } else { shown.join("\n") }
}

fn failed(build: &Build, reason: String) -> ServerError {
    ServerError::InitialiseFailed { build: build.to_string(), reason }
}
