//! Where a script lies, and what its states are made from.

use super::PreparedTest;
use crate::general::General;
use crate::halt::Halt;
use crate::mysql;
use crate::request::{Caller, TestRequest};
use plimsoll_engine::endpoint::{Endpoint, Resolved};
use plimsoll_script::Script;
use plimsoll_script::aside::AsidePlace;
use plimsoll_script::bundled;
use plimsoll_script::dialect::{Budget, Dialect};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The text of a script, and its name; what comes on standard input has none.
pub struct FoundTest {
    pub name: Option<String>,
    pub text: Vec<u8>,
    /// It comes with Plimsoll.
    pub is_bundled: bool,
}

/// Finds a script: on standard input, as a file, or as a module that comes with Plimsoll.
///
/// # Errors
/// There is none of this name.
pub fn find(name: Option<&str>) -> Result<FoundTest, Halt> {
    let unreadable = |name: &str, error: std::io::Error| Halt::Fatal(format!("cannot read {name}: {error}"));
    let Some(name) = name.filter(|name| *name != "-") else {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map_err(|error| unreadable("standard input", error))?;
        return Ok(FoundTest { name: None, text, is_bundled: false });
    };
    let own = bundled::text(name).filter(|_| !Path::new(name).is_file());
    let text = match own {
        _ if Path::new(name).is_file() => fs::read(name).map_err(|error| unreadable(name, error))?,
        Some(text) => text.as_bytes().to_vec(),
        None => match in_path(name) {
            Some(path) => fs::read(&path).map_err(|error| unreadable(name, error))?,
            None => {
                let text = format!("Cannot find benchmark '{name}': no such built-in test, file or module");
                return Err(Halt::Fatal(text));
            }
        },
    };
    Ok(FoundTest { name: Some(name.to_owned()), text, is_bundled: own.is_some() })
}

/// A module of the current directory, or where LUA_PATH says.
fn in_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var("LUA_PATH").unwrap_or_default();
    let file = name.replace('.', "/");
    let templates = ["./?.lua", "./?/init.lua"].into_iter().chain(paths.split(';').filter(|path| !path.is_empty()));
    templates.map(|template| PathBuf::from(template.replace('?', &file))).find(|path| path.is_file())
}

/// All that the states of a script are made from.
///
/// # Errors
/// What is wrong with an option.
pub fn prepared(
    name: Option<String>,
    text: Vec<u8>,
    request: &TestRequest,
    around: &Caller,
) -> Result<PreparedTest, Halt> {
    let TestRequest { line, options, general, .. } = request;
    let dialect = Dialect {
        ignored: mysql::ignored(options)?,
        is_compatible: general.is_compatible,
        is_dry: options.is_on("mysql_dry_run"),
        is_isolated: general.is_isolated,
        driver: options.text("db_driver").to_owned(),
        servers: mysql::servers(options, around.password.clone())?,
        budget: Budget::new(general.events, general.time * 1_000_000_000),
        command: line.command.clone(),
        path: line.test.clone(),
        options: OnceLock::new(),
        globals: OnceLock::new(),
        test_options: OnceLock::new(),
        uses_sql: false.into(),
        say: crate::console::say,
    };
    let shown = name.clone().unwrap_or_else(|| "sysbench.lua".to_owned());
    let directory = Path::new(&shown).parent().map_or_else(PathBuf::new, Path::to_owned);
    let endpoint = unused(&dialect);
    let script =
        Script { directory, dialect: Some(Arc::new(dialect)), ..Script::from_text(&shown, text, general.distribution) };
    Ok(PreparedTest {
        name,
        script: Arc::new(script),
        endpoint,
        protocol: mysql::protocol(options)?,
        place: AsidePlace { tid: 0, threads: general.threads, seed: seed(general), drawn: Arc::default() },
        general: general.clone(),
    })
}

/// Of a run whose script says what it connects to, if to anything.
fn unused(dialect: &Dialect) -> Endpoint {
    let servers = &dialect.servers;
    let nowhere = PathBuf::new();
    Endpoint {
        address: plimsoll_engine::Address::Unix(nowhere.clone()),
        resolved: Resolved::Unix(nowhere),
        user: servers.user.clone(),
        password: servers.password.clone(),
        database: None,
        tls: servers.tls.clone(),
        local_files: false,
    }
}

fn seed(general: &General) -> u64 {
    // Short enough to be typed again.
    let now =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| u64::from(time.as_nanos() as u32).max(1));
    if general.seed == 0 { now() } else { general.seed }
}
