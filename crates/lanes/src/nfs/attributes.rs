//! Translates between NFSv3 and FUSE: attributes, their changes, and errors.

use fuser::{Errno, FileAttr, FileType, INodeNo, TimeOrNow};
use nfs3_client::nfs3_types::nfs3::{Nfs3Option, fattr3, ftype3, nfsstat3, nfstime3, sattr3, set_atime, set_mtime};

/// Unit of [`FileAttr::blocks`].
const SECTOR: u64 = 512;
/// Shown as `st_blksize`; InnoDB takes the alignment of its direct I/O from it.
const BLOCK: u32 = 4096;
const PERMISSIONS: u32 = 0o7777;

/// A server's attributes. Device numbers are left out: the mount allows no devices.
pub fn file_attr(from: &fattr3) -> FileAttr {
    FileAttr {
        ino: INodeNo(from.fileid),
        size: from.size,
        blocks: from.used.div_ceil(SECTOR),
        atime: (&from.atime).into(),
        mtime: (&from.mtime).into(),
        ctime: (&from.ctime).into(),
        crtime: std::time::UNIX_EPOCH,
        kind: file_type(from.type_),
        perm: (from.mode & PERMISSIONS) as u16,
        nlink: from.nlink,
        uid: from.uid,
        gid: from.gid,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

fn file_type(from: ftype3) -> FileType {
    match from {
        ftype3::NF3REG => FileType::RegularFile,
        ftype3::NF3DIR => FileType::Directory,
        ftype3::NF3BLK => FileType::BlockDevice,
        ftype3::NF3CHR => FileType::CharDevice,
        ftype3::NF3LNK => FileType::Symlink,
        ftype3::NF3SOCK => FileType::Socket,
        ftype3::NF3FIFO => FileType::NamedPipe,
    }
}

/// Attributes to set; `None` leaves one as it is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AttributeChange {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub atime: Option<TimeOrNow>,
    pub mtime: Option<TimeOrNow>,
}

impl AttributeChange {
    /// In the protocol's form. Times before 1970 are sent as 1970, its earliest.
    pub fn to_nfs(self) -> sattr3 {
        sattr3 {
            mode: option(self.mode.map(|mode| mode & PERMISSIONS)),
            uid: option(self.uid),
            gid: option(self.gid),
            size: option(self.size),
            atime: match self.atime {
                None => set_atime::DONT_CHANGE,
                Some(TimeOrNow::Now) => set_atime::SET_TO_SERVER_TIME,
                Some(TimeOrNow::SpecificTime(time)) => set_atime::SET_TO_CLIENT_TIME(nfs_time(time)),
            },
            mtime: match self.mtime {
                None => set_mtime::DONT_CHANGE,
                Some(TimeOrNow::Now) => set_mtime::SET_TO_SERVER_TIME,
                Some(TimeOrNow::SpecificTime(time)) => set_mtime::SET_TO_CLIENT_TIME(nfs_time(time)),
            },
        }
    }
}

fn nfs_time(time: std::time::SystemTime) -> nfstime3 {
    nfstime3::try_from(time).unwrap_or_default()
}

fn option<T>(value: Option<T>) -> Nfs3Option<T>
where
    T: nfs3_client::nfs3_types::xdr_codec::Pack + nfs3_client::nfs3_types::xdr_codec::Unpack,
{
    value.map_or(Nfs3Option::None, Nfs3Option::Some)
}

/// The system's number for a server's error. The protocol took its numbers from a BSD, so the low ones agree with Linux
/// and the others do not (RFC 1813 section 2.6).
pub fn errno(status: nfsstat3) -> Errno {
    use nfsstat3 as S;
    match status {
        S::NFS3ERR_NAMETOOLONG => Errno::ENAMETOOLONG,
        S::NFS3ERR_NOTEMPTY => Errno::ENOTEMPTY,
        S::NFS3ERR_DQUOT => Errno::EDQUOT,
        S::NFS3ERR_STALE | S::NFS3ERR_BADHANDLE => Errno::ESTALE,
        S::NFS3ERR_REMOTE => Errno::EREMOTE,
        S::NFS3ERR_NOTSUPP => Errno::EOPNOTSUPP,
        S::NFS3ERR_BADTYPE | S::NFS3ERR_BAD_COOKIE | S::NFS3ERR_TOOSMALL => Errno::EINVAL,
        S::NFS3_OK | S::NFS3ERR_NOT_SYNC | S::NFS3ERR_SERVERFAULT | S::NFS3ERR_JUKEBOX => Errno::EIO,
        other => Errno::from_i32(other as i32),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use nfs3_client::nfs3_types::nfs3::specdata3;

    use super::*;

    fn server_attributes() -> fattr3 {
        let time = |seconds| nfstime3 { seconds, nseconds: 5 };
        fattr3 {
            type_: ftype3::NF3REG,
            mode: 0o100_640,
            nlink: 1,
            uid: 104,
            gid: 110,
            size: 16_385,
            used: 20_481,
            rdev: specdata3::default(),
            fsid: 7,
            fileid: 131,
            atime: time(1),
            mtime: time(2),
            ctime: time(u32::MAX),
        }
    }

    #[test]
    fn attributes_keep_their_meaning() {
        let attr = file_attr(&server_attributes());
        assert_eq!(
            (attr.ino.0, attr.kind, attr.perm, attr.uid, attr.gid),
            (131, FileType::RegularFile, 0o640, 104, 110)
        );
        assert_eq!((attr.size, attr.blocks), (16_385, 41));
        assert_eq!(attr.mtime, UNIX_EPOCH + Duration::new(2, 5));
        assert_eq!(attr.ctime, UNIX_EPOCH + Duration::new(u64::from(u32::MAX), 5));
    }

    #[test]
    fn a_change_sends_what_it_sets_and_nothing_else() {
        let none = AttributeChange::default().to_nfs();
        assert!(none.mode.is_none() && none.uid.is_none() && none.gid.is_none() && none.size.is_none());
        assert!(matches!((none.atime, none.mtime), (set_atime::DONT_CHANGE, set_mtime::DONT_CHANGE)));
        let early = TimeOrNow::SpecificTime(UNIX_EPOCH - Duration::from_secs(1));
        let set = AttributeChange {
            mode: Some(0o100_600),
            size: Some(0),
            mtime: Some(early),
            atime: Some(TimeOrNow::Now),
            ..AttributeChange::default()
        };
        let set = set.to_nfs();
        assert!(matches!((set.mode, set.size), (Nfs3Option::Some(0o600), Nfs3Option::Some(0))));
        assert!(matches!(set.atime, set_atime::SET_TO_SERVER_TIME));
        assert!(matches!(set.mtime, set_mtime::SET_TO_CLIENT_TIME(nfstime3 { seconds: 0, nseconds: 0 })));
    }

    #[test]
    fn errors_get_the_numbers_of_this_system() {
        for (status, number) in [
            (nfsstat3::NFS3ERR_NOENT, libc::ENOENT),
            (nfsstat3::NFS3ERR_NOSPC, libc::ENOSPC),
            (nfsstat3::NFS3ERR_ROFS, libc::EROFS),
            (nfsstat3::NFS3ERR_NAMETOOLONG, libc::ENAMETOOLONG),
            (nfsstat3::NFS3ERR_NOTEMPTY, libc::ENOTEMPTY),
            (nfsstat3::NFS3ERR_STALE, libc::ESTALE),
            (nfsstat3::NFS3ERR_NOTSUPP, libc::EOPNOTSUPP),
            (nfsstat3::NFS3ERR_SERVERFAULT, libc::EIO),
        ] {
            assert_eq!(i32::from(errno(status)), number, "{status}");
        }
    }
}
