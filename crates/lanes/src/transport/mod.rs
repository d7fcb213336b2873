//! How a client reaches the storage of a network lane: each transport as the programs of its server and its client.
//!
//! All of them work in user space, so that no kernel needs a module for them. A transport of blocks ends in a file of
//! nbdfuse, or of qemu-storage-daemon, that a loop device is attached to; a transport of files in a FUSE mount.

pub mod iscsi;
pub mod nbd;
pub mod nfs;
pub mod nfs_files;
pub mod nfs_image;
mod qemu;
pub mod sshfs;

use super::daemon::Daemon;
use super::namespace;
use super::site::Site;
use super::spec::Spec;
use crate::LaneError;

/// What lies between a client and its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// No network: the client's own device, or memory.
    Local,
    Nbd,
    Iscsi,
    NfsImage,
    NfsFiles,
    Sshfs,
}

impl Transport {
    pub const NETWORK: [Transport; 5] =
        [Transport::Nbd, Transport::Iscsi, Transport::NfsImage, Transport::NfsFiles, Transport::Sshfs];

    pub fn name(self) -> &'static str {
        match self {
            Transport::Local => "local",
            Transport::Nbd => "nbd",
            Transport::Iscsi => "iscsi",
            Transport::NfsImage => "nfs-image",
            Transport::NfsFiles => "nfs-files",
            Transport::Sshfs => "sshfs",
        }
    }

    pub fn describe(self) -> &'static str {
        match self {
            Transport::Local => "no network",
            Transport::Nbd => "a device over TCP: nbdkit and nbdfuse",
            Transport::Iscsi => "a device over iSCSI: tgt and QEMU's initiator",
            Transport::NfsImage => "a device in a file over NFSv3: NFS-Ganesha and QEMU's client",
            Transport::NfsFiles => "files over NFSv3: NFS-Ganesha and Plimsoll's own client",
            Transport::Sshfs => "files over SFTP; writes are not waited for, so that it is not for timing",
        }
    }

    /// Whether the client sees the files of the server, rather than a device.
    pub fn serves_files(self) -> bool {
        matches!(self, Transport::NfsFiles | Transport::Sshfs)
    }

    /// Whether the server has a file system on its disk.
    pub fn has_served_files(self) -> bool {
        self.serves_files() || self == Transport::NfsImage
    }

    /// The keys of the modifiers that it can have.
    pub fn modifiers(self) -> &'static [&'static str] {
        match self {
            Transport::Local => &[],
            Transport::Nbd | Transport::NfsImage => {
                &["fs", "options", "scheduler", "delay", "mtu", "iops", "bandwidth", "cache"]
            }
            Transport::Iscsi => &["fs", "options", "scheduler", "delay", "mtu", "iops", "bandwidth", "cache", "export"],
            Transport::NfsFiles => &["options", "delay", "mtu", "iops", "bandwidth", "cache"],
            Transport::Sshfs => &["options", "delay", "mtu", "iops", "bandwidth"],
        }
    }

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

    /// The programs of the server, in the order in which they are started. `disk` is its loop device.
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

    /// The programs of the client likewise. The last of them shows the device's file or the mount.
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
        use crate::Side;
        let lanes = tempfile::tempdir().unwrap();
        for transport in Transport::NETWORK {
            let spec = Spec::parse(transport.name()).unwrap();
            let site = Site::of(lanes.path(), &spec);
            // Where the servers' settings and files are written.
            std::fs::create_dir_all(site.served()).unwrap();
            assert!(transport.server(&site, &spec, "loop7").unwrap().iter().all(|part| part.side == Side::Server));
            assert!(transport.client(&site, &spec).unwrap().iter().all(|part| part.side == Side::Client));
        }
    }
}
