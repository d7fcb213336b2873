//! The server's files over SFTP, without the encryption of SSH: sftp-server behind socat, and sshfs (sshfs(1),
//! socat(1)).

use super::super::daemon::{Daemon, Ready};
use super::super::site::Site;
use super::super::spec::Spec;
use super::super::{LaneSide, build, tool};
use crate::LaneError;
use crate::error::DuringLane;
use std::fs;

/// Nobody has registered it for anything that a lane has.
pub const PORT: u16 = 2222;

pub(super) fn server(site: &Site) -> Result<Vec<Daemon>, LaneError> {
    let files = site.served_files();
    fs::create_dir(&files).during("make", &files)?;
    let program = tool::find("sftp-server").map_or("sftp-server".to_owned(), |path| path.display().to_string());
    let listen = format!("TCP-LISTEN:{PORT},fork,reuseaddr,nodelay");
    let words = ["socat".to_owned(), listen, format!("EXEC:{program}")].to_vec();
    Ok(vec![Daemon::new(LaneSide::Server, "socat", words, Ready::Ports(&[PORT]))])
}

pub(super) fn client(site: &Site, spec: &Spec) -> Vec<Daemon> {
    let mut options = vec![format!("directport={PORT}"), format!("fsname={}", build::SOURCE)];
    options.extend(["allow_other", "default_permissions"].map(str::to_owned));
    options.extend(spec.options.iter().cloned());
    let from = format!("{}:{}", super::address(spec), site.served_files().display());
    let words = ["sshfs", "-f", "-o", &options.join(","), &from, &site.mount().display().to_string()];
    vec![Daemon::new(LaneSide::Client, "sshfs", words.map(str::to_owned).to_vec(), Ready::Mount(site.mount()))]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn options_of_mount_are_those_of_sshfs() {
        let (site, spec) = of("sshfs,options=dir_cache=no");
        let line = lines(client(&site, &spec));
        assert!(line.contains(",dir_cache=no 192.0.2.1:/h/lanes/sshfs,options=dir_cache=no/served/files "), "{line}");
    }
}
