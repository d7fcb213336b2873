//! How a client reaches the storage of a network lane: for each transport, the programs of its server and its client.
//!
//! All of them work in user space and need no kernel module. A transport of blocks ends in a file of nbdfuse, or of
//! qemu-storage-daemon, to which a loop device is attached; a transport of files ends in a FUSE mount.

pub mod iscsi;
pub mod nbd;
pub mod nfs;
pub mod nfs_files;
pub mod nfs_image;
mod qemu;
pub mod sshfs;

use super::daemon::Daemon;
use super::kind::Transport;
use super::namespace;
use super::site::Site;
use super::spec::Spec;
use crate::LaneError;

impl Transport {
    /// The TCP ports that the server answers on.
    pub fn ports(self) -> &'static [u16] {
        match self {
            Transport::Local => &[],
            Transport::Nbd => &[nbd::PORT],
            Transport::Iscsi => &[iscsi::PORT],
            Transport::NfsImage | Transport::NfsFiles => &[nfs::PORTMAPPER_PORT, nfs::MOUNT_PORT, nfs::PORT],
            Transport::Sshfs => &[sshfs::PORT],
        }
    }

    /// The programs and plugins of both sides.
    pub fn programs(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Transport::Local => return Vec::new(),
            Transport::Nbd => &["nbdkit", "nbdfuse"],
            Transport::Iscsi => &["tgtd", "tgtadm", "qemu-storage-daemon", "block-iscsi.so", "nbdfuse"],
            Transport::NfsImage => {
                &["ganesha.nfsd", "libfsalvfs.so", "rpcbind", "qemu-storage-daemon", "block-nfs.so", "nbdfuse"]
            }
            Transport::NfsFiles => &["ganesha.nfsd", "libfsalvfs.so", "rpcbind"],
            Transport::Sshfs => &["socat", "sftp-server", "sshfs"],
        };
        let below: &[&str] = if self.has_served_files() { &["mkfs.xfs"] } else { &[] };
        [&["unshare", "nsenter", "ip"], own, below].concat()
    }

    /// The programs of the server, in starting order. `disk` is its loop device.
    ///
    /// # Errors
    /// [`LaneError::Io`] if what they read cannot be written; [`LaneError::Refused`] for a path that is too long.
    pub fn server(self, site: &Site, spec: &Spec, disk: &str) -> Result<Vec<Daemon>, LaneError> {
        match self {
            Transport::Local => Ok(Vec::new()),
            Transport::Nbd => Ok(nbd::server(site, spec, disk)),
            Transport::Iscsi => iscsi::server(site, disk),
            Transport::NfsImage => nfs_image::server(site),
            Transport::NfsFiles => nfs_files::server(site),
            Transport::Sshfs => sshfs::server(site),
        }
    }

    /// The programs of the client, in starting order. The last one provides the device's file or the mount.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a path that is too long.
    pub fn client(self, site: &Site, spec: &Spec) -> Result<Vec<Daemon>, LaneError> {
        match self {
            Transport::Local => Ok(Vec::new()),
            Transport::Nbd => Ok(nbd::client(site, spec)),
            Transport::Iscsi => iscsi::client(site, spec),
            Transport::NfsImage => nfs_image::client(site, spec),
            Transport::NfsFiles => nfs_files::client(site, spec),
            Transport::Sshfs => Ok(sshfs::client(site, spec)),
        }
    }
}

/// Where the client finds its server: behind the link that delays, if there is one.
fn address(spec: &Spec) -> &'static str {
    if spec.delay.is_some() { namespace::LINK } else { namespace::SERVER }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The command lines of one side of a lane in `/h/lanes`.
    pub(super) fn lines(daemons: Vec<Daemon>) -> String {
        daemons.into_iter().map(|daemon| daemon.words.join(" ")).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn of(name: &str) -> (Site, Spec) {
        let spec = Spec::parse(name).unwrap();
        (Site::of(Path::new("/h/lanes"), &spec), spec)
    }

    #[test]
    fn a_delayed_client_goes_by_the_link() {
        for transport in Transport::NETWORK {
            let near = of(transport.name());
            let far = of(&format!("{},delay=1ms", transport.name()));
            let line = |(site, spec): &(Site, Spec)| lines(transport.client(site, spec).unwrap());
            assert!(line(&near).contains("192.0.2.1") && !line(&near).contains("127.0.0.1"), "{}", line(&near));
            assert!(line(&far).contains("127.0.0.1") && !line(&far).contains("192.0.2.1"), "{}", line(&far));
        }
    }

    #[test]
    fn every_part_is_of_the_side_that_starts_it() {
        use crate::LaneSide;
        let lanes = tempfile::tempdir().unwrap();
        for transport in Transport::NETWORK {
            let spec = Spec::parse(transport.name()).unwrap();
            let site = Site::of(lanes.path(), &spec);
            // Where the servers' settings and files are written.
            std::fs::create_dir_all(site.served()).unwrap();
            assert!(transport.server(&site, &spec, "loop7").unwrap().iter().all(|part| part.side == LaneSide::Server));
            assert!(transport.client(&site, &spec).unwrap().iter().all(|part| part.side == LaneSide::Client));
        }
    }
}
