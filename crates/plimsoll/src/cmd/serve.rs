//! `plimsoll serve`: serves the dashboard until Ctrl-C.

use super::DONE;
use crate::args::ServeArgs;
use crate::terminal;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_live::Dashboard;
use std::sync::atomic::Ordering;

pub fn run(args: &ServeArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let interrupted = terminal::interrupt_flag()?;
    let dashboard = Dashboard::listen(args.listen, home.recordings(), super::report::parameters_of)?;
    terminal::note(&format!("the dashboard is at {} (Ctrl-C stops it)", dashboard.url()?));
    terminal::note("open that link: nobody gets in without its token, not even other users of this machine");
    if !args.listen.ip().is_loopback() {
        terminal::note(
            "on another machine, replace the address in the link with this machine's IP address; whoever has the token \
             can read every recording, and the connection is not encrypted",
        );
    }
    dashboard.run(|| interrupted.load(Ordering::Relaxed))?;
    Ok(DONE)
}
