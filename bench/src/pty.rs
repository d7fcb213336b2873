//! Pseudoterminals for contestants that draw on one: with somebody who reads, and with nobody.

use anyhow::Context;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, write};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::thread;

/// A window as many people have it.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };

/// The end of whoever looks, and the one that a command has.
fn open() -> rustix::io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let viewer = openpt(flags)?;
    grantpt(&viewer)?;
    unlockpt(&viewer)?;
    tcsetwinsize(&viewer, SIZE)?;
    let terminal = ioctl_tiocgptpeer(&viewer, flags)?;
    Ok((File::from(viewer), terminal))
}

/// A terminal that is read until its last user has closed it.
pub fn watched() -> anyhow::Result<OwnedFd> {
    let (mut viewer, terminal) = open().context("opening a pseudoterminal")?;
    let reader = thread::Builder::new().name("viewer".into());
    reader.spawn(move || {
        let mut some = [0; 4096];
        while let Ok(1..) = viewer.read(&mut some) {}
    })?;
    Ok(terminal)
}

/// A terminal that takes nothing more, and the end that nobody reads.
pub fn stalled() -> anyhow::Result<(OwnedFd, File)> {
    let (viewer, terminal) = open().context("opening a pseudoterminal")?;
    fill(&terminal).context("filling a pseudoterminal")?;
    Ok((terminal, viewer))
}

/// Writes until nothing more is taken.
fn fill(terminal: &OwnedFd) -> rustix::io::Result<()> {
    let flags = fcntl_getfl(terminal)?;
    fcntl_setfl(terminal, flags | OFlags::NONBLOCK)?;
    for size in [4096, 1] {
        loop {
            match write(terminal, &vec![b'x'; size]) {
                Ok(_) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            }
        }
    }
    fcntl_setfl(terminal, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Whether something more is taken at once.
    fn takes(terminal: &OwnedFd) -> bool {
        poll(&mut [PollFd::new(terminal, PollFlags::OUT)], Some(&Timespec::default())).unwrap() > 0
    }

    #[test]
    fn one_takes_everything_and_the_other_nothing() {
        let watched = watched().unwrap();
        (0..100).for_each(|_| assert_eq!(write(&watched, &[b'x'; 1000]).unwrap(), 1000));
        let (stalled, _unread) = stalled().unwrap();
        assert!(!takes(&stalled));
    }
}
