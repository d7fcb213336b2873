//! The system's own programs: where they are, which package has them, and how one is run.

use super::kind::FileSystem;
use super::spec::Spec;
use crate::LaneError;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs that lanes need, with the Debian package of each.
const PACKAGES: [(&str, &str); 28] = [
    ("cp", "coreutils"),
    ("mount", "mount"),
    ("umount", "mount"),
    ("losetup", "mount"),
    ("blockdev", "util-linux"),
    ("mkfs.ext4", "e2fsprogs"),
    ("chattr", "e2fsprogs"),
    ("e2fsck", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("xfs_repair", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("btrfs", "btrfs-progs"),
    ("nbdkit", "nbdkit"),
    ("nbdfuse", "libnbd-bin"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("tgtd", "tgt"),
    ("tgtadm", "tgt"),
    ("qemu-storage-daemon", "qemu-system-common"),
    ("block-iscsi.so", "qemu-block-extra"),
    ("block-nfs.so", "qemu-block-extra"),
    ("ganesha.nfsd", "nfs-ganesha"),
    ("libfsalvfs.so", "nfs-ganesha-vfs"),
    ("rpcbind", "rpcbind"),
    ("socat", "socat"),
    ("sftp-server", "openssh-sftp-server"),
    ("sshfs", "sshfs"),
];

/// Where plugins and programs that nobody types are, below a library directory.
const ELSEWHERE: [&str; 4] = ["qemu", "ganesha", "openssh", "ssh"];

/// Those of them that do one thing and end.
pub const BRIEF: [&str; 13] = [
    "cp",
    "mount",
    "umount",
    "losetup",
    "mkfs.ext4",
    "chattr",
    "mkfs.xfs",
    "mkfs.btrfs",
    "e2fsck",
    "xfs_repair",
    "btrfs",
    "unshare",
    "nsenter",
];

/// The command that installs these packages.
pub fn install_line(packages: &[&str]) -> String {
    format!("apt-get install -y --no-install-recommends {}", packages.join(" "))
}

/// Packages that a lane needs and whose programs and plugins are missing, without repetition.
pub fn missing_for(spec: &Spec) -> Vec<&'static str> {
    let needed = needed(spec);
    let mut packages = Vec::new();
    for (program, package) in PACKAGES {
        if needed.contains(&program) && !packages.contains(&package) && find(program).is_none() {
            packages.push(package);
        }
    }
    packages
}

fn needed(spec: &Spec) -> Vec<&'static str> {
    let mut programs = match spec.kind {
        FileSystem::Root => vec![],
        FileSystem::Tmpfs | FileSystem::Overlay => vec!["mount", "umount"],
        _ => vec!["mount", "umount", "losetup"],
    };
    programs.extend(spec.transport.programs());
    match spec.kind {
        FileSystem::Root | FileSystem::Tmpfs | FileSystem::Overlay => {}
        FileSystem::Ext4 => programs.push("mkfs.ext4"),
        FileSystem::Xfs | FileSystem::Xfs16k => programs.push("mkfs.xfs"),
        FileSystem::Btrfs => programs.push("mkfs.btrfs"),
        FileSystem::BtrfsNocow => programs.extend(["mkfs.btrfs", "chattr"]),
    }
    if spec.is_volatile && !spec.is_network() {
        // After a power cut its file system is looked at.
        programs.push(checker(spec.kind).0);
    }
    if spec.is_served() {
        programs.push("nbdkit");
    }
    if spec.is_behind_nbd() {
        programs.push("nbdfuse");
    }
    programs
}

/// The program that looks for damage, and its options.
pub(super) fn checker(kind: FileSystem) -> (&'static str, &'static [&'static str]) {
    match kind {
        FileSystem::Xfs | FileSystem::Xfs16k => ("xfs_repair", &["-n"]),
        FileSystem::Btrfs | FileSystem::BtrfsNocow => ("btrfs", &["check", "--readonly"]),
        _ => ("e2fsck", &["-f", "-n"]),
    }
}

/// The first executable of this name in `PATH`, or a plugin or program beside libraries.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories = std::env::split_paths(&path).chain(beside_libraries());
    directories.map(|directory| directory.join(program)).find(|candidate| candidate.is_file())
}

/// As `/usr/lib/openssh` and `/usr/lib/x86_64-linux-gnu/qemu`.
fn beside_libraries() -> impl Iterator<Item = PathBuf> {
    let machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["/usr/lib".to_owned(), machine, "/usr/lib64".to_owned(), "/usr/libexec".to_owned()];
    libraries.into_iter().flat_map(|library| ELSEWHERE.map(|directory| Path::new(&library).join(directory)))
}

/// A command for one of [`PACKAGES`] that reads nothing and answers in English. It gets only `PATH` from our
/// environment: what is meant for Plimsoll, especially a password, is not for servers that run as root for days. It is
/// in a process group of its own: Ctrl-C in the terminal is for Plimsoll, which then undoes what was done.
///
/// # Errors
/// [`LaneError::Environment`] if it is not installed.
pub fn command(program: &str) -> Result<Command, LaneError> {
    let path = find(program).ok_or_else(|| {
        let package = PACKAGES.iter().find(|(known, _)| *known == program).map_or(program, |(_, package)| package);
        LaneError::Environment(format!("{program} is not in PATH; to install it: {}", install_line(&[package])))
    })?;
    let mut command = Command::new(path);
    apart(&mut command);
    Ok(command)
}

/// Gives a command nothing to read, `PATH` alone, and a process group of its own.
pub(super) fn apart(command: &mut Command) {
    command.env_clear().env("LC_ALL", "C").stdin(Stdio::null()).process_group(0);
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
}

/// Runs a program to its end. Returns its standard output.
///
/// # Errors
/// [`LaneError::Environment`] with its standard error.
pub fn run<A: AsRef<OsStr>>(program: &str, arguments: &[A]) -> Result<String, LaneError> {
    run_in(Path::new("/"), program, arguments)
}

/// The same, in this directory.
pub fn run_in<A: AsRef<OsStr>>(directory: &Path, program: &str, arguments: &[A]) -> Result<String, LaneError> {
    let mut command = command(program)?;
    command.args(arguments).current_dir(directory);
    finish(program, command)
}

/// Runs a command of this program to its end, as [`run`] does.
///
/// # Errors
/// As [`run`].
pub fn finish(program: &str, mut command: Command) -> Result<String, LaneError> {
    let failed = |why: String| LaneError::Environment(format!("{program} failed: {why}"));
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let told: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(failed(if told.is_empty() { output.status.to_string() } else { told.join("; ") }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Transport;

    #[test]
    fn what_a_lane_needs_has_a_package() {
        for kind in FileSystem::ALL {
            for modifiers in ["", ",delay=2ms", ",device=volatile"] {
                let Ok(spec) = Spec::parse(&format!("{}{modifiers}", kind.name())) else { continue };
                for program in needed(&spec) {
                    assert!(PACKAGES.iter().any(|(known, _)| *known == program), "{program}");
                }
            }
        }
        for transport in Transport::NETWORK {
            for program in needed(&Spec::parse(transport.name()).unwrap()) {
                assert!(PACKAGES.iter().any(|(known, _)| *known == program), "{program}");
            }
        }
    }

    #[test]
    fn a_program_has_neither_our_environment_nor_our_process_group() {
        let environment = run("env", &[] as &[&str]).unwrap();
        let mut names: Vec<_> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
        let stat = run("cat", &["/proc/self/stat"]).unwrap();
        let fields: Vec<_> = stat.split(' ').collect();
        assert_eq!(fields[0], fields[4], "it leads a group: {stat}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let error = run("mount", &["--no-such-option"]).unwrap_err().to_string();
        assert!(error.starts_with("mount failed: ") && error.contains("no-such-option"), "{error}");
    }
}
