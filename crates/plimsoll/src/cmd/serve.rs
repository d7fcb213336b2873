//! `plimsoll serve`: the dashboard in a browser, until Ctrl-C.

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
    terminal::note(&format!("the dashboard is at {} (Ctrl-C ends it)", dashboard.url()?));
    terminal::note("open that link: without its token nobody gets in, other users of this machine included");
    if !args.listen.ip().is_loopback() {
        terminal::note(
            "from elsewhere, put this machine's IP address in its place; whoever has the token can read every \
             recording, and nothing is encrypted on the way",
        );
    }
    dashboard.run(|| interrupted.load(Ordering::Relaxed))?;
    Ok(DONE)
}
