//! The server of both NFS lanes: NFS-Ganesha with its own rpcbind (ganesha-config(8), rpcbind(8), RFC 1813).
//!
//! Both use fixed paths below `/run`. They get an empty `/run` in a mount namespace of their own, with nothing mounted
//! but what they need: otherwise they would keep every other file system of the machine from being unmounted.

use super::super::daemon::{Daemon, Ready};
use super::super::site::Site;
use super::super::{LaneSide, mounts};
use crate::LaneError;
use crate::error::DuringLane;
use std::fs;
use std::path::Path;

/// Of NFS (IANA).
pub const PORT: u16 = 2049;
/// Of the mount protocol, which has no fixed port; this one is usual.
pub const MOUNT_PORT: u16 = 20048;
/// Of the port mapper (RFC 1833).
pub const PORTMAPPER_PORT: u16 = 111;

/// What they need: programs, libraries, settings, devices.
const NEEDED: [&str; 8] = ["/usr", "/lib", "/etc", "/var", "/run", "/dev", "/proc", "/sys"];
/// The mount points to unmount follow as further words; one may vanish with another in which it was mounted. Any other
/// failure ends the script, so that nothing is done in the machine's own `/run`.
const SCRIPT: &str = "\
    set -e; mount --types tmpfs --options mode=0755 plimsoll /run; mkdir /run/rpcbind; \
    for place; do umount --lazy \"$place\" || true; done; \
    rpcbind; exec ganesha.nfsd -F -f ganesha.conf -p ganesha.pid -L STDERR";

/// The server of the files in this directory.
///
/// # Errors
/// [`LaneError::Refused`] for a path that its settings cannot hold; [`LaneError::Io`].
pub(super) fn server(site: &Site, directory: &Path) -> Result<Vec<Daemon>, LaneError> {
    let settings = site.root().join("ganesha.conf");
    fs::write(&settings, configuration(site, directory)?).during("write", &settings)?;
    let words = ["unshare", "--mount", "--propagation=slave", "sh", "-c", SCRIPT, "sh"];
    let mut words: Vec<String> = words.map(str::to_owned).to_vec();
    words.extend(not_needed(&mounts::all()?, site));
    let ready = Ready::Ports(&[PORTMAPPER_PORT, MOUNT_PORT, PORT]);
    Ok(vec![Daemon::new(LaneSide::Server, "ganesha.nfsd", words, ready)])
}

/// The mount points that the server does not need: those of other lanes, wherever they are, and all outside what it
/// reads.
fn not_needed(mounts: &[mounts::Mount], site: &Site) -> Vec<String> {
    let (served, lanes) = (site.served(), site.root().parent().unwrap_or(site.root()));
    let is_read = |path: &str, point: &Path| Path::new(path).starts_with(point) || point.starts_with(path);
    let is_needed = |point: &Path| {
        served.starts_with(point) || !point.starts_with(lanes) && NEEDED.iter().any(|path| is_read(path, point))
    };
    let others = mounts.iter().filter(|mount| !is_needed(&mount.point));
    others.map(|mount| mount.point.display().to_string()).collect()
}

/// NFSv3 over TCP only, without network locks, quotas, and a grace period after a start.
fn configuration(site: &Site, directory: &Path) -> Result<String, LaneError> {
    let [root, directory] =
        [site.root(), directory].map(|path| path.to_str().filter(|path| !path.contains(['"', '\n'])));
    let (Some(root), Some(directory)) = (root, directory) else {
        let home = site.root().display();
        let why = format!("the NFS server's settings cannot name {home}; set PLIMSOLL_HOME to a path without quotes");
        return Err(LaneError::Refused(why));
    };
    Ok(format!(
        "NFS_CORE_PARAM {{\n\
         \tProtocols = 3;\n\tNFS_Port = {PORT};\n\tMNT_Port = {MOUNT_PORT};\n\
         \tEnable_NLM = false;\n\tEnable_RQUOTA = false;\n\tEnable_UDP = false;\n}}\n\
         NFSV4 {{\n\tGraceless = true;\n\tRecoveryRoot = \"{root}/recovery\";\n}}\n\
         EXPORT {{\n\tExport_Id = 1;\n\tPath = \"{directory}\";\n\tPseudo = \"/plimsoll\";\n\tProtocols = 3;\n\
         \tTransports = TCP;\n\tSecType = sys;\n\tAccess_Type = RW;\n\tSquash = No_Root_Squash;\n\
         \tFSAL {{\n\t\tName = VFS;\n\t}}\n}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;
    use crate::spec::Spec;
    use plimsoll_testkit::programs::write_script;
    use std::process::Command;

    fn at(point: &str) -> mounts::Mount {
        let (filesystem, source) = ("xfs".to_owned(), "none".to_owned());
        let (device, root) = ("0:1".to_owned(), "/".into());
        let [options, super_options] = [Vec::new(), Vec::new()];
        mounts::Mount { device, root, point: point.into(), options, filesystem, source, super_options }
    }

    /// What is run by the script, in which one program fails.
    fn run_where_fails(failing: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for program in ["mount", "mkdir", "umount", "rpcbind", "ganesha.nfsd"] {
            let failed = u8::from(program == failing);
            write_script(&directory.path().join(program), &format!("#!/bin/sh\necho {program}\nexit {failed}\n"));
        }
        let mut shell = Command::new("/bin/sh");
        let run = shell.args(["-c", SCRIPT, "sh", "/mnt", "/mnt/b"]).env("PATH", directory.path()).output().unwrap();
        String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn nothing_is_started_in_the_run_of_the_machine() {
        assert_eq!(run_where_fails("mount"), ["mount"]);
        assert_eq!(run_where_fails("mkdir"), ["mount", "mkdir"]);
        assert_eq!(run_where_fails("rpcbind"), ["mount", "mkdir", "umount", "umount", "rpcbind"]);
        assert_eq!(run_where_fails("umount").last().unwrap(), "ganesha.nfsd", "it had gone already");
    }

    #[test]
    fn the_server_keeps_no_lane_of_a_home_in_what_it_reads() {
        let site = Site::of(Path::new("/var/lib/plimsoll/lanes"), &Spec::parse("nfs-files").unwrap());
        let lanes = ["nfs-files/served", "nfs-files/mount", "nfs-files,delay=1ms/served", "ext4/mount"];
        let mut mounts: Vec<_> = lanes.map(|lane| at(&format!("/var/lib/plimsoll/lanes/{lane}"))).into();
        mounts.extend(["/var", "/var/lib/plimsoll", "/var/lib/nfs"].map(at));
        let others = lanes[1..].iter().map(|lane| format!("/var/lib/plimsoll/lanes/{lane}"));
        assert_eq!(not_needed(&mounts, &site), others.collect::<Vec<_>>());
    }

    #[test]
    fn the_server_keeps_no_file_system_that_is_not_its_own() {
        let (site, _) = of("nfs-files");
        let mounts = ["/", "/h", "/h/lanes/nfs-files/served", "/h/lanes/ext4/mount", "/dev/pts", "/usr/local", "/mnt"];
        assert_eq!(not_needed(&mounts.map(at), &site), ["/h/lanes/ext4/mount", "/mnt"]);
    }

    #[test]
    fn its_state_lies_in_the_lane() {
        let (site, _) = of("nfs-files");
        let text = configuration(&site, &site.served_files()).unwrap();
        assert!(text.contains("RecoveryRoot = \"/h/lanes/nfs-files/recovery\""), "{text}");
        assert!(text.contains("Path = \"/h/lanes/nfs-files/served/files\""), "{text}");
        assert!(configuration(&site, Path::new("/a\"b")).unwrap_err().to_string().contains("quotes"));
    }
}
