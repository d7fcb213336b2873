//! What goes wrong on a network lane while somebody works on it, done by a process of its own: whoever starts a program
//! closes a copy of each of its files there, and would wait for the storage server that is gone (close(2), FUSE's flush).

use super::spec::Spec;
use super::{Lane, Lanes, namespace, own_program, tool};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_faults::CutReport;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The storage server loses its power, and comes back.
    ServerPower,
    /// The link is gone for so long.
    Link(Duration),
}

impl Lanes {
    /// Does it, and returns what the storage server's device lost, when all is as it was: in a process of its own.
    ///
    /// # Errors
    /// As [`Lanes::disturb_here`], in the words of that process.
    pub fn disturb(&self, lane: &Lane, disturbance: Disturbance) -> Result<CutReport, LaneError> {
        let words = own_program("disturb")?;
        let mut command = Command::new(&words[0]);
        tool::apart(&mut command);
        command.args(&words[1..]).arg("--home").arg(&self.home).args(["--lane", &lane.name]);
        if let Disturbance::Link(gone) = disturbance {
            command.args(["--link-milliseconds", &gone.as_millis().to_string()]);
        }
        let said = tool::finish("plimsoll lane-part disturb", command)?;
        serde_json::from_str(&said).map_err(std::io::Error::from).during("read what was said of", &lane.directory)
    }

    /// The same, in this process, which has no file of the lane open.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a lane that cannot have it, or is not up; [`LaneError::Environment`] if what was taken away
    /// does not come back.
    pub fn disturb_here(&self, name: &str, disturbance: Disturbance) -> Result<CutReport, LaneError> {
        match disturbance {
            Disturbance::ServerPower => self.restart_server(name),
            Disturbance::Link(gone) => {
                // Locked until it carries again: `clean` would mend it.
                let (site, _, _lock) = self.locked(name, Spec::is_network)?;
                namespace::carry(&site, false)?;
                thread::sleep(gone);
                namespace::carry(&site, true).map(|()| CutReport::default())
            }
        }
    }
}
