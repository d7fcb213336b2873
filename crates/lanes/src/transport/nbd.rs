//! A device over NBD (TCP): nbdkit, which reads and writes the server's disk, and nbdfuse (nbdkit(1), nbdfuse(1)).

use super::super::daemon::{Daemon, Ready};
use super::super::namespace;
use super::super::site::Site;
use super::super::spec::{Cache, Spec};
use super::super::{LaneSide, loops, served};

/// Of the Network Block Device protocol (IANA).
pub const PORT: u16 = 10809;

pub(super) fn server(site: &Site, spec: &Spec, disk: &str) -> Vec<Daemon> {
    let words = format!("nbdkit --ipaddr={} --port={PORT} --threads={}", namespace::SERVER, served::THREADS);
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let pid_file = site.root().join("nbdkit.pid");
    words.push(format!("--pidfile={}", pid_file.display()));
    let swallows = spec.cache == Some(Cache::Unsafe);
    words.extend(swallows.then(|| "--filter=cache".to_owned()));
    words.extend(["file".to_owned(), loops::path(disk)]);
    words.extend(swallows.then(|| "cache=unsafe".to_owned()));
    // In the foreground it would end with the process that started it (nbdkit 1.32).
    vec![Daemon { pid_file: Some(pid_file), ..Daemon::new(LaneSide::Server, "nbdkit", words, Ready::Ports(&[PORT])) }]
}

pub(super) fn client(site: &Site, spec: &Spec) -> Vec<Daemon> {
    let uri = format!("nbd://{}:{PORT}", super::address(spec));
    vec![fuse(site, &[uri])]
}

/// nbdfuse, which turns an NBD server's export into the file `fuse/disk`. These words name the server.
pub(super) fn fuse(site: &Site, server: &[String]) -> Daemon {
    let mut words = vec!["nbdfuse".to_owned(), "-o".to_owned(), format!("fsname={}", super::super::build::SOURCE)];
    words.push(site.export().display().to_string());
    words.extend_from_slice(server);
    Daemon::new(LaneSide::Client, "nbdfuse", words, Ready::File(site.export()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn the_server_has_the_disk_and_the_client_a_file() {
        let (site, spec) = of("nbd");
        assert_eq!(
            lines(server(&site, &spec, "loop7")),
            "nbdkit --ipaddr=192.0.2.1 --port=10809 --threads=64 --pidfile=/h/lanes/nbd/nbdkit.pid file /dev/loop7"
        );
        let line = "nbdfuse -o fsname=plimsoll /h/lanes/nbd/fuse/disk nbd://192.0.2.1:10809";
        assert_eq!(lines(client(&site, &spec)), line);
        let (site, lying) = of("nbd,cache=unsafe");
        assert!(lines(server(&site, &lying, "loop7")).ends_with("--filter=cache file /dev/loop7 cache=unsafe"));
    }
}
