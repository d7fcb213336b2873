//! qemu-storage-daemon as a client: turns what one of its drivers reads and writes into a file
//! (qemu-storage-daemon(1)).

use super::super::LaneSide;
use super::super::daemon::{Daemon, Ready};
use super::super::site::Site;
use super::super::spec::{Cache, Spec};
use super::nbd;
use crate::LaneError;
use crate::error::DuringLane;
use serde_json::{Value, json};
use std::fs::File;

const PROGRAM: &str = "qemu-storage-daemon";

/// The programs that turn the device named by a driver's `options` into the file `fuse/disk`.
///
/// It is exported by NBD, and nbdfuse provides the file: the FUSE export of qemu-storage-daemon 7.2 has one buffer for
/// all requests and mixes up concurrent writes. A spec with `export=fuse` uses that one.
///
/// # Errors
/// [`LaneError::Refused`] if the path of its socket is too long; [`LaneError::Io`].
pub(super) fn client(site: &Site, spec: &Spec, mut options: Value) -> Result<Vec<Daemon>, LaneError> {
    options["node-name"] = json!("disk");
    options["cache"] = json!({ "direct": true, "no-flush": spec.cache == Some(Cache::Unsafe) });
    let mut words = vec![PROGRAM.to_owned(), "--blockdev".to_owned(), options.to_string()];
    if spec.fuse_export {
        // It is mounted on the file.
        File::create(site.export()).during("make", &site.export())?;
        let export = json!({
            "type": "fuse", "id": "disk", "node-name": "disk", "mountpoint": site.export(), "writable": true,
        });
        words.extend(["--export".to_owned(), export.to_string()]);
        return Ok(vec![Daemon::new(LaneSide::Client, PROGRAM, words, Ready::File(site.export()))]);
    }
    let socket = site.socket()?;
    let server = json!({ "addr": { "type": "unix", "path": socket } });
    let export = json!({ "type": "nbd", "id": "disk", "node-name": "disk", "name": "", "writable": true });
    words.extend(["--nbd-server".to_owned(), server.to_string(), "--export".to_owned(), export.to_string()]);
    let fuse = nbd::fuse(site, &["--unix".to_owned(), socket.display().to_string()]);
    Ok(vec![Daemon::new(LaneSide::Client, PROGRAM, words, Ready::Socket(socket)), fuse])
}
