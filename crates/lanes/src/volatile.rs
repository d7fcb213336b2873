//! A device that loses at a power cut what was not flushed: the image behind a part of this program ([`plimsoll_faults`]),
//! which speaks NBD.

use super::served::until_ready;
use super::site::Site;
use super::{own_program, tool};
use crate::LaneError;
use crate::error::DuringLane;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// The name of the program, as lists of processes show it.
///
/// # Errors
/// [`LaneError::Io`] if this program does not know its own name.
pub(super) fn program() -> Result<String, LaneError> {
    let path = std::env::current_exe().during("find", Path::new("/proc/self/exe"))?;
    Ok(path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Starts it on the lane's image; returns when it can be asked.
///
/// # Errors
/// [`LaneError::Environment`] with its output.
pub(super) fn start(site: &Site) -> Result<(), LaneError> {
    let (socket, power) = (site.socket()?, site.power()?);
    for left in [&socket, &power] {
        match fs::remove_file(left) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).during("remove", left),
            _ => {}
        }
    }
    let words = own_program("device")?;
    let said = site.root().join("device.log");
    let output = File::create(&said).during("write", &said)?;
    let mut command = Command::new(&words[0]);
    tool::apart(&mut command);
    command.args(&words[1..]).arg("--image").arg(site.image()).arg("--spool").arg(site.root());
    command.arg("--socket").arg(socket).arg("--power").arg(&power).stdout(Stdio::null()).stderr(output);
    let child = command.spawn().during("start the device of", site.root())?;
    until_ready(child, &said, "the device cannot be used", || power.exists())
}
