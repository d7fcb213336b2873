//! The server's own files over NFSv3, by Plimsoll's own client: no other that works without a module of the kernel
//! holds a database.

use super::super::daemon::{Daemon, Ready};
use super::super::site::Site;
use super::super::spec::{Cache, Spec};
use super::super::{Side, build, own_program};
use super::nfs;
use crate::LaneError;
use crate::error::During;
use std::fs;

/// What `actimeo=` is where it is not given: `acregmin` of nfs(5), seconds.
const ATTRIBUTE_SECONDS: u32 = 3;
/// The longest and the shortest read and write that the client can be told to ask for, bytes; `lane-part nfs` has the
/// same limits.
pub const LONGEST: u32 = 1 << 20;
pub const SHORTEST: u32 = 4096;

/// What the lane's `options=` say: those of the NFS client, which are named as in nfs(5), and those of the server's
/// file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long attributes are believed, seconds.
    pub attribute_seconds: u32,
    /// Of one READ and one WRITE, bytes.
    pub rsize: u32,
    pub wsize: u32,
    /// Of mount(8).
    pub server: Vec<String>,
}

impl Options {
    /// # Errors
    /// What is wrong and what is accepted.
    pub fn of(spec: &Spec) -> Result<Options, String> {
        let (rsize, wsize) = (LONGEST, LONGEST);
        let mut options = Options { attribute_seconds: ATTRIBUTE_SECONDS, rsize, wsize, server: Vec::new() };
        for option in &spec.options {
            let size = |value: &str| {
                let bytes = value.parse().ok().filter(|bytes| (SHORTEST..=LONGEST).contains(bytes));
                bytes.ok_or_else(|| format!("'options={option}'; accepted is {SHORTEST} to {LONGEST} bytes"))
            };
            match option.split_once('=') {
                Some(("actimeo", value)) => {
                    let wrong = || format!("'options={option}'; accepted is actimeo=N, seconds");
                    options.attribute_seconds = value.parse().map_err(|_| wrong())?;
                }
                Some(("rsize", value)) => options.rsize = size(value)?,
                Some(("wsize", value)) => options.wsize = size(value)?,
                _ => options.server.push(option.clone()),
            }
        }
        Ok(options)
    }
}

pub(super) fn server(site: &Site) -> Result<Vec<Daemon>, LaneError> {
    let files = site.served_files();
    fs::create_dir(&files).during("make", &files)?;
    nfs::server(site, &files)
}

pub(super) fn client(site: &Site, spec: &Spec) -> Result<Vec<Daemon>, LaneError> {
    let address = super::address(spec);
    let options = Options::of(spec).map_err(LaneError::Refused)?;
    let mut words = own_program("nfs")?;
    let mut add = |option: &str, value: String| words.extend([format!("--{option}"), value]);
    add("nfs", format!("{address}:{}", nfs::PORT));
    add("mountd", format!("{address}:{}", nfs::MOUNT_PORT));
    add("export", site.served_files().display().to_string());
    add("mount", site.mount().display().to_string());
    add("source", build::SOURCE.to_owned());
    add("attribute-seconds", options.attribute_seconds.to_string());
    add("rsize", options.rsize.to_string());
    add("wsize", options.wsize.to_string());
    add("operations", site.operations()?.display().to_string());
    words.extend((spec.cache == Some(Cache::Unsafe)).then(|| "--swallow-flush".to_owned()));
    Ok(vec![Daemon::new(Side::Client, "nfs", words, Ready::Mount(site.mount()))])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn options_are_of_the_client_or_of_the_server() {
        let (_, spec) = of("nfs-files,options=noatime+actimeo=30+rsize=65536");
        let options = Options::of(&spec).unwrap();
        assert_eq!((options.attribute_seconds, options.rsize, options.wsize), (30, 65536, 1 << 20));
        assert_eq!(options.server, ["noatime"]);
    }

    #[test]
    fn the_client_is_this_program() {
        let (site, spec) = of("nfs-files,cache=unsafe");
        let line = lines(client(&site, &spec).unwrap());
        assert!(line.contains(" lane-part nfs --nfs 192.0.2.1:2049 --mountd 192.0.2.1:20048 "), "{line}");
        assert!(line.contains("--operations /h/lanes/nfs-files,cache=unsafe/ops.sock --swallow-flush"), "{line}");
    }
}
