//! Turns `--target`, `--server`, `--defaults-file`, `MYSQL_PWD` and `--ask-password` into a target.

use crate::args::{LabArgs, TargetArgs};
use crate::terminal::Progress;
use anyhow::Context;
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_data::text_file;
use plimsoll_engine::endpoint::Password;
use plimsoll_lab::error::LabError;
use plimsoll_lab::login::Login;
use plimsoll_plan::defaults::{self, ClientSection};
use plimsoll_plan::{Target, Url, target};
use plimsoll_watch::{Event, Watcher};
use std::env::VarError;
use std::path::Path;

/// Reads what is needed to log in. Connects to nothing.
pub fn spec(args: &TargetArgs, holder: &str) -> anyhow::Result<TargetSpec> {
    spec_of(args, args.target.as_ref(), holder)
}

/// The same of the target `named`, or of what else the arguments say.
pub fn spec_of(args: &TargetArgs, named: Option<&String>, holder: &str) -> anyhow::Result<TargetSpec> {
    let client = client(args.defaults_file.as_deref())?;
    let target = match (named, &args.server, &client) {
        (Some(text), _, _) => with_defaults(Target::parse(text)?, client.as_ref()),
        (None, Some(server), _) => Target::Private(server.clone()),
        (None, None, Some(client)) => Target::External(client.url.clone()),
        (None, None, None) => Target::Private("auto".to_owned()),
    };
    let database = args.database.as_deref().map(target::database_name).transpose()?;
    Ok(TargetSpec {
        target,
        password: password(args.ask_password, client)?,
        default_user: std::env::var("USER").unwrap_or_else(|_| "root".to_owned()),
        database,
        holder: holder.to_owned(),
    })
}

/// Lets go of a target, and shows so while its server is stopped, which may take minutes.
pub fn close(target: OpenTarget, progress: &mut Progress) {
    if target.server.is_some() {
        progress.tell(Event::Doing("stopping the private server"));
    }
    drop(target);
    progress.clear();
}

/// The `[client]` section of the option file that `--defaults-file` names.
pub fn client(file: Option<&Path>) -> anyhow::Result<Option<ClientSection>> {
    file.map(|path| client_of("--defaults-file", path)).transpose()
}

/// That of the option file which an option of this name names.
pub fn client_of(option: &str, path: &Path) -> anyhow::Result<ClientSection> {
    let text = text_file::read_utf8(path)
        .map_err(|problem| LabError::Refused(format!("{option} {}: {problem}", path.display())))?;
    Ok(defaults::parse(&text, &path.display().to_string())?)
}

/// What the URL leaves open is taken from the option file.
fn with_defaults(target: Target, client: Option<&ClientSection>) -> Target {
    match (target, client) {
        (Target::External(url), Some(client)) => Target::External(url.or(&client.url)),
        (target, _) => target,
    }
}

/// Which servers a lab's password is for, and the password: typed if `ask`, else from the option file, else from
/// `MYSQL_PWD`.
pub fn login(args: &LabArgs, ask: bool) -> anyhow::Result<Login> {
    let client = client(args.defaults_file.as_deref())?;
    let file = client.as_ref().filter(|client| client.names_server).map(|client| client.url.clone());
    let places = args.password_for.iter().cloned().chain(file.as_ref().map(Url::place)).collect();
    let password = Some(password(ask, client)?).filter(|password| !password.0.is_empty());
    Ok(Login { password, places, file })
}

/// The password: typed if `ask`, else from the option file, else from `MYSQL_PWD`.
pub fn password(ask: bool, client: Option<ClientSection>) -> anyhow::Result<Password> {
    if ask {
        let typed =
            rpassword::prompt_password("Password: ").context("the password cannot be read from the terminal")?;
        return Ok(Password(typed));
    }
    if let Some(from_file) = client.and_then(|client| client.password) {
        return Ok(Password(from_file));
    }
    Ok(Password(password_of_environment()?.unwrap_or_default()))
}

/// That of `MYSQL_PWD`, if it is set.
///
/// # Errors
/// [`LabError::Refused`] if it is no UTF-8.
pub fn password_of_environment() -> Result<Option<String>, LabError> {
    match std::env::var("MYSQL_PWD") {
        Ok(password) => Ok(Some(password)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(LabError::Refused("MYSQL_PWD is no UTF-8, which passwords have to be".to_owned()))
        }
    }
}
