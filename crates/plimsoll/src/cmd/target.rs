//! Where `--target`, `--defaults-file`, `MYSQL_PWD` and `--ask-password` become a target.

use crate::args::TargetArgs;
use anyhow::Context;
use plimsoll_engine::endpoint::Password;
use plimsoll_lab::TargetSpec;
use plimsoll_lab::error::LabError;
use plimsoll_plan::defaults::{self, Client};
use plimsoll_plan::{Target, target};

/// Reads what is needed to log in. Nothing is connected to.
pub fn spec(args: &TargetArgs, holder: &str) -> anyhow::Result<TargetSpec> {
    let client = match &args.defaults_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| LabError::Refused(format!("--defaults-file {}: {error}", path.display())))?;
            Some(defaults::parse(&text, &path.display().to_string())?)
        }
    };
    let target = match (&args.target, &client) {
        (Some(text), _) => with_defaults(Target::parse(text)?, client.as_ref()),
        (None, Some(client)) => Target::External(client.url.clone()),
        (None, None) => Target::Private("auto".to_owned()),
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

/// What the URL leaves open is taken from the option file.
fn with_defaults(target: Target, client: Option<&Client>) -> Target {
    match (target, client) {
        (Target::External(url), Some(client)) => Target::External(url.or(client.url.clone())),
        (target, _) => target,
    }
}

fn password(ask: bool, client: Option<Client>) -> anyhow::Result<Password> {
    if ask {
        let typed =
            rpassword::prompt_password("Password: ").context("the password cannot be read from the terminal")?;
        return Ok(Password(typed));
    }
    let from_file = client.and_then(|client| client.password);
    Ok(Password(from_file.or_else(|| std::env::var("MYSQL_PWD").ok()).unwrap_or_default()))
}
