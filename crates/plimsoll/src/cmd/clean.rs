//! `plimsoll clean`: removes what an interrupted run left behind.

use super::{DONE, ENVIRONMENT};
use crate::args::CleanArgs;
use crate::terminal;
use plimsoll_lab::LabError;
use plimsoll_server::{Home, registry};

pub fn run(_args: CleanArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let cleaning = registry::clean(&home).map_err(LabError::from)?;
    for cleaned in &cleaning.cleaned {
        terminal::result(&cleaned.to_string())?;
    }
    for left in &cleaning.left {
        terminal::note(&format!("left alone: {left}"));
    }
    if cleaning.cleaned.is_empty() && cleaning.left.is_empty() {
        terminal::note("nothing to clean");
    }
    Ok(if cleaning.left.is_empty() { DONE } else { ENVIRONMENT })
}
