//! Mounts, serves, and ends.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fuser::{Config, MountOption, Session, SessionACL};
use nfs3_client::nfs3_types::mount::dirpath;
use nfs3_client::nfs3_types::nfs3::nfs_fh3;
use nfs3_client::nfs3_types::rpc::opaque_auth;
use nfs3_client::{MountClient, MountError, RpcError};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::mount::UnmountFlags;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::connection::{NfsServer, NfsStream, credential, finish};
use super::front::Front;
use super::nodes::Nodes;
use super::operations::{Operations, Socket};
use super::volume::{Volume, getattr, limits};
use super::{MountOptions, NfsError};

/// Requests in flight at most. A thread that waits costs little more than its connection.
const THREADS: usize = 64;

/// Mounts, and serves until it is unmounted. SIGTERM and SIGINT unmount it: at once for new users, while open files are
/// served until they are closed.
///
/// # Errors
/// Options that no mount can have, a server that does not answer or refuses, a directory that cannot be mounted on, or
/// a broken connection to the kernel.
pub fn serve(options: &MountOptions) -> Result<(), NfsError> {
    options.check()?;
    let operations = Arc::new(Operations::default());
    let (front, rsize) = connect(options, operations.clone())?;
    let told = |source| NfsError::Operations { path: options.operations.clone().unwrap_or_default(), source };
    let _socket = options.operations.as_ref().map(|path| Socket::open(path, operations)).transpose().map_err(told)?;
    let failed = |source| NfsError::Mount { path: options.mount.clone(), source };
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let handle = signals.handle();
    let session = Session::new(front, &options.mount, &config(options, rsize)).map_err(failed)?;
    let_pages_gather(&options.mount);
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            for _ in &mut signals {
                // It may have been unmounted already.
                let _ = rustix::mount::unmount(&options.mount, UnmountFlags::DETACH);
            }
        });
        let ended = session.run();
        handle.close();
        ended
    });
    match ended {
        // Some threads get this when the last file of a detached file system is closed.
        Err(error) if error.kind() == ErrorKind::ConnectionAborted => Ok(()),
        other => other.map_err(|source| NfsError::Ended { path: options.mount.clone(), source }),
    }
}

/// The file system of a server that has answered, and the bytes of its largest READ.
fn connect(options: &MountOptions, operations: Arc<Operations>) -> Result<(Front, u32), NfsError> {
    let root = root(options)?;
    let server = NfsServer::new(options.nfs, options.patience, operations);
    let failed = |error: fuser::Errno| NfsError::Root {
        address: options.nfs,
        source: std::io::Error::from_raw_os_error(error.into()),
    };
    let limits = limits(&server, &root).map_err(failed)?;
    let attr = getattr(&server, &root).map_err(failed)?;
    let age = Duration::from_secs(options.attribute_seconds.into());
    let volume = Volume::new(server, Nodes::new(root, attr), age, options.is_async);
    let least = *super::TRANSFER.start();
    let (rsize, wsize) = (options.rsize.min(limits.rtmax).max(least), options.wsize.min(limits.wtmax).max(least));
    Ok((Front::new(volume, age, wsize), rsize))
}

/// Lets the mount have as many dirty pages as a kernel's NFS client: FUSE strictly allows a hundredth of what other
/// file systems have, so its writers wait far earlier (`sysfs-class-bdi` in the kernel's ABI). A kernel without these
/// files, or a machine on which they cannot be written, keeps its own limits.
fn let_pages_gather(mount: &Path) {
    // The mount is not served yet, so nothing may be asked of it.
    let Ok(found) = statx(CWD, mount, AtFlags::STATX_DONT_SYNC, StatxFlags::empty()) else { return };
    let limits = format!("/sys/class/bdi/{}:{}", found.stx_dev_major, found.stx_dev_minor);
    for (limit, value) in [("strict_limit", "0"), ("max_ratio", "100")] {
        let _ = std::fs::write(Path::new(&limits).join(limit), value);
    }
}

/// The handle of the export's root, from the MOUNT service (RFC 1813 appendix I).
fn root(options: &MountOptions) -> Result<nfs_fh3, NfsError> {
    let unreachable = |source| NfsError::Unreachable { address: options.mountd, source };
    let refused =
        |reason: String| NfsError::Refused { address: options.mountd, export: options.export.clone(), reason };
    let stream = NfsStream::connect(options.mountd, options.patience.answer).map_err(unreachable)?;
    let mut client = MountClient::new_with_auth(stream, credential(), opaque_auth::default());
    let path = dirpath(options.export.clone().into_bytes().into());
    match finish(client.mnt(path)) {
        Ok(mounted) => Ok(nfs_fh3 { data: mounted.fhandle.0 }),
        Err(MountError::Rpc(RpcError::Io(source))) => Err(unreachable(source)),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Everybody may enter, and the kernel checks permissions. No set-user-ID programs, no devices.
fn config(options: &MountOptions, rsize: u32) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(options.source.clone()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::CUSTOM(format!("max_read={rsize}")),
    ];
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    config
}
