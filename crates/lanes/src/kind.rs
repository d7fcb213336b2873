//! The names of what a network lane can be made of.

/// What is between a client and its storage.
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
            Transport::Nbd => "a device over NBD (TCP): nbdkit and nbdfuse",
            Transport::Iscsi => "a device over iSCSI: tgt and QEMU's initiator",
            Transport::NfsImage => "a device in a file over NFSv3: NFS-Ganesha and QEMU's client",
            Transport::NfsFiles => "files over NFSv3: NFS-Ganesha and Plimsoll's own client",
            Transport::Sshfs => "files over SFTP; writes are acknowledged early, so it is not for timing",
        }
    }

    /// Whether the client sees the server's files, not a device.
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
                &["fs", "options", "scheduler", "delay", "mtu", "tcp", "iops", "bandwidth", "cache"]
            }
            Transport::Iscsi => {
                &["fs", "options", "scheduler", "delay", "mtu", "tcp", "iops", "bandwidth", "cache", "export"]
            }
            Transport::NfsFiles => &["options", "delay", "mtu", "tcp", "iops", "bandwidth", "cache"],
            Transport::Sshfs => &["options", "delay", "mtu", "tcp", "iops", "bandwidth"],
        }
    }
}
