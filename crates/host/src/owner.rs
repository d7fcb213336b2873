//! Whether a path can be trusted. Whoever can write to a directory decides what is in it, so what is above a path
//! counts as well as the path itself.
//!
//! A path is trusted if it belongs to us, and nobody else can change or replace it: everything above it belongs to us
//! or to root, and others can write neither to it nor above it. These are the rules of sshd(8) with `StrictModes`, with
//! two exceptions: a directory with the sticky bit, such as `/tmp`, may be above it, since users can replace only their
//! own files there; and a group without other members (the private group that many systems give every user) may write.

use crate::error::{During, HostError};
use rustix::process::{geteuid, getuid};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STICKY: u32 = 0o1000;
const BY_GROUP: u32 = 0o020;
const BY_OTHERS: u32 = 0o002;

/// Refuses a path that others own or can write to, or can replace because of what is above it. Links above it are
/// followed; it must not be one itself.
///
/// # Errors
/// [`HostError::Untrusted`] names what cannot be trusted, its owner and mode, and what to do; [`HostError::Io`] if it
/// cannot be examined, especially if it does not exist.
pub fn check(path: &Path) -> Result<(), HostError> {
    itself(path)?;
    let real = path.canonicalize().during("resolve", path)?;
    real.ancestors().skip(1).try_for_each(above)
}

/// Refuses a directory or file that others own or can write to; what is above it is not checked. For what we created in
/// a directory that the user named.
///
/// # Errors
/// As [`check`].
pub fn itself(path: &Path) -> Result<(), HostError> {
    let facts = fs::symlink_metadata(path).during("look at", path)?;
    if facts.is_symlink() {
        let remedy = "move it away, or name its target instead".to_owned();
        return Err(HostError::Untrusted { path: path.to_owned(), found: "it is a symbolic link".to_owned(), remedy });
    }
    if facts.uid() != us() {
        return Err(foreign(path, &facts));
    }
    must_be_safe(path, &facts)
}

/// The same for a path, if it exists.
///
/// # Errors
/// As [`check`].
pub fn check_if_there(path: &Path) -> Result<(), HostError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        _ => check(path),
    }
}

fn us() -> u32 {
    geteuid().as_raw()
}

fn above(path: &Path) -> Result<(), HostError> {
    let facts = fs::symlink_metadata(path).during("look at", path)?;
    // The owner of `/` is trusted with everything; in a user namespace that may be an unknown user.
    let of_the_system = || fs::metadata("/").is_ok_and(|root| root.uid() == facts.uid());
    if facts.uid() != us() && facts.uid() != 0 && !of_the_system() {
        return Err(foreign(path, &facts));
    }
    match facts.mode() & STICKY != 0 {
        true => Ok(()),
        false => must_be_safe(path, &facts),
    }
}

fn must_be_safe(path: &Path, facts: &Metadata) -> Result<(), HostError> {
    let (by_group, by_others) = (facts.mode() & BY_GROUP != 0, facts.mode() & BY_OTHERS != 0);
    if !(by_others || by_group && has_others(facts.gid())) {
        return Ok(());
    }
    let who = if by_others { "others can" } else { "its group can" };
    let bits = if by_others { "go-w" } else { "g-w" };
    Err(HostError::Untrusted {
        path: path.to_owned(),
        found: format!("{who} write to it ({})", described(facts)),
        remedy: format!("make sure that nobody has put anything there, then `chmod {bits}` it"),
    })
}

fn foreign(path: &Path, facts: &Metadata) -> HostError {
    HostError::Untrusted {
        path: path.to_owned(),
        found: format!("it belongs to user {}, and this is user {} ({})", facts.uid(), us(), described(facts)),
        remedy: "use a directory of your own that has only root's directories above it".to_owned(),
    }
}

fn described(facts: &Metadata) -> String {
    format!("owner {}, group {}, mode {:04o}", facts.uid(), facts.gid(), facts.mode() & 0o7777)
}

/// Whether anybody but us and root is in a group, by the system's files (group(5), passwd(5)). Of a missing group
/// nothing is known.
fn has_others(group: u32) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    others_in(group, [us(), getuid().as_raw(), 0], &read("/etc/group"), &read("/etc/passwd"))
}

fn others_in(group: u32, trusted: [u32; 3], groups: &str, users: &str) -> bool {
    let users: Vec<User<'_>> = users.lines().filter_map(User::parse).collect();
    let Some(members) = groups.lines().find_map(|line| members(line, group)) else { return true };
    let is_trusted = |name: &str| users.iter().any(|user| user.name == name && trusted.contains(&user.id));
    members.split(',').filter(|name| !name.is_empty()).any(|name| !is_trusted(name))
        || users.iter().any(|user| user.group == group && !trusted.contains(&user.id))
}

struct User<'a> {
    name: &'a str,
    id: u32,
    group: u32,
}

impl User<'_> {
    /// `name:password:id:group:…`.
    fn parse(line: &str) -> Option<User<'_>> {
        let mut fields = line.split(':');
        let (name, _password) = (fields.next()?, fields.next()?);
        Some(User { name, id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    }
}

/// `name:password:id:members`.
fn members(line: &str, group: u32) -> Option<&str> {
    let mut fields = line.split(':').skip(2);
    let id: u32 = fields.next()?.parse().ok()?;
    (id == group).then(|| fields.next().unwrap_or_default())
}

/// Everything below a directory, itself included, must be a directory or a regular file with one name, and be only
/// ours.
///
/// # Errors
/// [`HostError::Untrusted`] for the first that is not; as [`check`] for the directory.
pub fn check_all_below(directory: &Path) -> Result<(), HostError> {
    check(directory)?;
    let mut to_read: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(directory) = to_read.pop() {
        for entry in fs::read_dir(&directory).during("read", &directory)? {
            let path = entry.during("read", &directory)?.path();
            itself(&path)?;
            let facts = fs::symlink_metadata(&path).during("look at", &path)?;
            if facts.is_dir() {
                to_read.push(path);
            } else if !facts.is_file() {
                return Err(odd(&path, "it is neither a file nor a directory"));
            } else if facts.nlink() > 1 {
                return Err(odd(&path, "it is a file with a second name elsewhere (a hard link)"));
            }
        }
    }
    Ok(())
}

fn odd(path: &Path, found: &str) -> HostError {
    let remedy = "find out who put it there, and remove it".to_owned();
    HostError::Untrusted { path: path.to_owned(), found: found.to_owned(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// `above/ours/file`, below a temporary directory with the sticky bit above it.
    fn tree() -> (tempfile::TempDir, [PathBuf; 3]) {
        let base = tempfile::tempdir().unwrap();
        let above = base.path().canonicalize().unwrap().join("above");
        let (ours, file) = (above.join("ours"), above.join("ours/file"));
        fs::create_dir_all(&ours).unwrap();
        fs::write(&file, "").unwrap();
        [&above, &ours].into_iter().for_each(|path| mode(path, 0o755));
        mode(&file, 0o644);
        (base, [above, ours, file])
    }

    #[test]
    fn write_bits_count_here_and_above_and_the_sticky_bit_only_above() {
        let (_base, [above, ours, file]) = tree();
        check(&file).unwrap();
        for (path, bits) in [(&file, 0o646), (&ours, 0o757), (&above, 0o777)] {
            let before = fs::metadata(path).unwrap().mode();
            mode(path, bits);
            let refused = check(&file).unwrap_err().to_string();
            let named = format!("`{}` cannot be trusted: others can write to it", path.display());
            assert!(refused.starts_with(&named) && refused.contains(&format!("mode {bits:04o}")), "{refused}");
            assert!(refused.contains("chmod go-w"), "{refused}");
            mode(path, before & 0o7777);
        }
        mode(&above, 0o1777);
        check(&ours).unwrap();
        assert!(check(&above).is_err(), "what is in it can be anybody's");
        itself(&ours).unwrap();
    }

    #[test]
    fn links_above_are_followed_and_none_stands_for_ours() {
        let (base, [above, ours, file]) = tree();
        let link = base.path().join("link");
        symlink(&ours, &link).unwrap();
        assert!(check(&link).unwrap_err().to_string().contains("symbolic link"));
        check(&link.join("file")).unwrap();
        mode(&above, 0o777);
        assert!(check(&link.join("file")).is_err(), "what is above the real one counts");
        fs::remove_file(file).unwrap();
        check_if_there(&ours.join("file")).unwrap();
        assert!(matches!(check(&ours.join("file")), Err(HostError::Io { .. })));
    }

    #[test]
    fn a_group_may_write_if_nobody_else_is_in_it() {
        let users = "root:x:0:0::/:\nann:x:1000:1000::/:\nbob:x:1001:50::/:\ncid:x:1002:1002::/:\n";
        let groups = "root:x:0:\nann:x:1000:\nbob:x:50:\nstaff:x:60:ann,root\nwheel:x:70:ann,cid\nodd:x:80:gone\n";
        let others = |group| others_in(group, [1000, 1000, 0], groups, users);
        for (group, expected) in [(1000, false), (0, false), (60, false), (50, true), (70, true), (80, true), (9, true)]
        {
            assert_eq!(others(group), expected, "{group}");
        }
        assert!(others_in(1000, [1001, 1001, 0], groups, users), "another user's own group");
        assert!(others_in(0, [0; 3], "", "") && others_in(0, [0; 3], "nonsense", "nonsense"));
    }

    #[test]
    fn all_below_are_files_of_ours_with_one_name() {
        let (base, [_, ours, file]) = tree();
        fs::create_dir_all(ours.join("a/b")).unwrap();
        check_all_below(&ours).unwrap();
        let second = ours.join("a/b/second");
        for (word, plant) in [
            ("symbolic link", (|from, to| symlink(from, to)) as fn(&Path, &Path) -> std::io::Result<()>),
            ("second name", |from, to| fs::hard_link(from, to)),
        ] {
            plant(&file, &second).unwrap();
            let refused = check_all_below(&ours).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
            fs::remove_file(&second).unwrap();
        }
        check_all_below(&ours).unwrap();
        drop(base);
    }
}
