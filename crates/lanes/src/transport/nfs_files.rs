//! The server's own files over NFSv3, with Plimsoll's own client: no other client without a kernel module can hold a
//! database.

use super::super::daemon::{Daemon, Ready};
use super::super::site::Site;
use super::super::spec::{Cache, Spec};
use super::super::{LaneSide, build, own_program};
use super::nfs;
use crate::LaneError;
use crate::error::DuringLane;
use crate::nfs_options::NfsOptions;
use std::fs::DirBuilder;

pub(super) fn server(site: &Site) -> Result<Vec<Daemon>, LaneError> {
    let files = site.served_files();
    // One that is started again has them.
    DirBuilder::new().recursive(true).create(&files).during("make", &files)?;
    nfs::server(site, &files)
}

pub(super) fn client(site: &Site, spec: &Spec) -> Result<Vec<Daemon>, LaneError> {
    let address = super::address(spec);
    let options = NfsOptions::of(&spec.options).map_err(LaneError::Refused)?;
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
    add("answer-milliseconds", options.patience.answer.as_millis().to_string());
    add("give-up-milliseconds", options.patience.give_up.as_millis().to_string());
    words.extend((options.is_async || spec.cache == Some(Cache::Unsafe)).then(|| "--async".to_owned()));
    Ok(vec![Daemon::new(LaneSide::Client, "nfs", words, Ready::Mount(site.mount()))])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn options_are_of_the_client_or_of_the_server() {
        let (_, spec) = of("nfs-files,options=noatime+actimeo=30+rsize=65536");
        let options = NfsOptions::of(&spec.options).unwrap();
        assert_eq!((options.attribute_seconds, options.rsize, options.wsize), (30, 65536, 1 << 20));
        assert_eq!(options.server, ["noatime"]);
    }

    #[test]
    fn the_client_is_this_program() {
        let (site, spec) = of("nfs-files,cache=unsafe");
        let line = lines(client(&site, &spec).unwrap());
        assert!(line.contains(" lane-part nfs --nfs 192.0.2.1:2049 --mountd 192.0.2.1:20048 "), "{line}");
        assert!(
            line.contains("--operations /h/lanes/nfs-files,cache=unsafe/ops.sock --answer-milliseconds 30000 "),
            "{line}"
        );
        assert!(line.ends_with(" --async"), "{line}");
        let (site, spec) = of("nfs-files,options=soft+timeo=5+retrans=4");
        let line = lines(client(&site, &spec).unwrap());
        assert!(line.ends_with("--answer-milliseconds 500 --give-up-milliseconds 2000"), "{line}");
    }
}
