//! A device in a file over NFSv3: the file is on the server's XFS, and QEMU's NFS client reads and writes it.

use super::super::daemon::Daemon;
use super::super::site::Site;
use super::super::spec::Spec;
use super::{nfs, qemu};
use crate::LaneError;
use crate::error::DuringLane;
use rustix::fs::statvfs;
use serde_json::json;
use std::fs::File;

/// The file's share of the server's file system, percent: the rest is for metadata.
const SHARE: u64 = 90;
/// The file is whole MiB long.
const GRAIN: u64 = 1 << 20;

pub(super) fn server(site: &Site) -> Result<Vec<Daemon>, LaneError> {
    let (served, image) = (site.served(), site.served_image());
    let facts = statvfs(&served).during("read the free space of", &served)?;
    let bytes = facts.f_bavail.saturating_mul(facts.f_frsize) / 100 * SHARE;
    let made = File::create_new(&image).and_then(|file| file.set_len(bytes - bytes % GRAIN));
    made.during("create the image", &image)?;
    nfs::server(site, &served)
}

pub(super) fn client(site: &Site, spec: &Spec) -> Result<Vec<Daemon>, LaneError> {
    let server = json!({ "type": "inet", "host": super::address(spec) });
    qemu::client(site, spec, json!({ "driver": "nfs", "server": server, "path": site.served_image() }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn the_client_has_the_file_of_the_server() {
        let (site, spec) = of("nfs-image");
        let line = lines(client(&site, &spec).unwrap());
        assert!(line.contains("\"path\":\"/h/lanes/nfs-image/served/disk.img\"") && line.contains("nbdfuse"), "{line}");
    }
}
