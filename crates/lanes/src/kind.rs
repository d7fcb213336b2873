//! The names of what a lane can be made of.

/// The file system of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    Root,
    Tmpfs,
    Overlay,
    Ext4,
    Xfs,
    Xfs16k,
    Btrfs,
    BtrfsNocow,
}

impl FileSystem {
    pub const ALL: [FileSystem; 8] = [
        FileSystem::Root,
        FileSystem::Tmpfs,
        FileSystem::Overlay,
        FileSystem::Ext4,
        FileSystem::Xfs,
        FileSystem::Xfs16k,
        FileSystem::Btrfs,
        FileSystem::BtrfsNocow,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Root => "root",
            FileSystem::Tmpfs => "tmpfs",
            FileSystem::Overlay => "overlay",
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Xfs16k => "xfs-16k",
            FileSystem::Btrfs => "btrfs",
            FileSystem::BtrfsNocow => "btrfs-nocow",
        }
    }

    pub fn describe(self) -> &'static str {
        match self {
            FileSystem::Root => "a directory on the file system of Plimsoll's home",
            FileSystem::Tmpfs => "memory",
            FileSystem::Overlay => "overlayfs on top of the home's file system",
            FileSystem::Ext4 => "ext4 on an image file, loop device with direct I/O",
            FileSystem::Xfs => "XFS on an image file, loop device with direct I/O",
            FileSystem::Xfs16k => "XFS with blocks of 16 KiB, the size of an InnoDB page",
            FileSystem::Btrfs => "btrfs, copy on write",
            FileSystem::BtrfsNocow => "btrfs that overwrites in place (chattr +C)",
        }
    }

    /// Whether it is on a block device.
    pub(super) fn needs_device(self) -> bool {
        !matches!(self, FileSystem::Root | FileSystem::Tmpfs | FileSystem::Overlay)
    }

    /// The smallest device that its mkfs accepts, bytes (xfsprogs 6.1 and btrfs-progs 6.2, rounded up).
    pub(super) fn least_bytes(self) -> u64 {
        match self {
            FileSystem::Xfs | FileSystem::Xfs16k => 320 << 20,
            FileSystem::Btrfs | FileSystem::BtrfsNocow => 256 << 20,
            _ => 128 << 20,
        }
    }
}

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
            Transport::NfsFiles => &["options", "delay", "mtu", "tcp", "iops", "bandwidth", "cache", "device"],
            Transport::Sshfs => &["options", "delay", "mtu", "tcp", "iops", "bandwidth"],
        }
    }
}
