//! What a server is confined to, as the kernel tells it.

use crate::place::{MEMORY, Place, limits, on_each_server, on_one_server};
use plimsoll_server::registry;
use plimsoll_server::{Confinement, Opening, ServerError, confine};
use plimsoll_testkit::servers;
use std::fs;
use std::path::{Path, PathBuf};

/// The memory group of a process: below the mounted controller, by its line in `/proc/<pid>/cgroup`.
fn memory_group(pid: u32) -> Option<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let of_ours = |line: &str| Some(line.rsplit_once(":/")?.1.to_owned()).filter(|name| name.starts_with("plimsoll-"));
    let name = groups.lines().find_map(of_ours)?;
    ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|root| Path::new(root).join(&name)).into_iter().find(|p| p.is_dir())
}

fn limit(group: &Path) -> u64 {
    let read =
        ["memory.limit_in_bytes", "memory.max"].into_iter().find_map(|file| fs::read_to_string(group.join(file)).ok());
    read.unwrap().trim().parse().unwrap()
}

#[test]
fn a_server_has_its_cpus_its_environment_and_no_other() {
    on_each_server(|place| {
        let cpu = *confine::cpus().last().unwrap();
        let env = [("PLIMSOLL_SEEN".to_owned(), "1".to_owned())].into();
        let confinement = Confinement { cpus: Some(vec![cpu]), env, ..Confinement::default() };
        let server = place.open(Opening::new("a test").confined(confinement)).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
        assert_eq!(allowed, cpu.to_string());
        let environment = fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let names: Vec<_> = environment.split('\0').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
        assert!(names.contains(&"PLIMSOLL_SEEN") && !names.contains(&"CARGO"), "{names:?}");
    });
}

#[test]
fn a_server_has_its_memory_and_gives_the_limit_back() {
    on_each_server(|place| {
        let Some((server, group)) = limited(place) else { return };
        assert!(limit(&group).abs_diff(MEMORY) < 65_536, "{}", limit(&group));
        drop(server);
        assert!(!group.exists());
    });
}

fn limited(place: &Place) -> Option<(plimsoll_server::PrivateServer, PathBuf)> {
    if limits().memory.is_none() {
        servers::skip("memory cannot be limited here; run as root");
        return None;
    }
    let server = place.open(Opening::new("a test").confined(limits())).unwrap();
    let group = memory_group(server.pid()).expect("it is in a group of its own");
    Some((server, group))
}

#[test]
fn the_limit_of_a_killed_lab_is_cleaned() {
    on_one_server(|place| {
        if limits().memory.is_none() {
            return servers::skip("memory cannot be limited here; run as root");
        }
        let lab = place.another_plimsoll("lab");
        let group = memory_group(lab.said.parse().unwrap()).expect("it is in a group of its own");
        lab.kill();
        assert!(group.exists());
        registry::clean(&place.home);
        assert!(!group.exists());
    });
}

#[test]
fn cpus_that_are_not_here_are_refused_and_nothing_is_left() {
    on_one_server(|place| {
        let confinement = Confinement { cpus: Some(vec![5000]), ..Confinement::default() };
        let error = place.open(Opening::new("a test").confined(confinement)).unwrap_err();
        assert!(matches!(&error, ServerError::Cpus { cpus, .. } if *cpus == [5000]), "{error}");
        assert!(registry::clean(&place.home).left.is_empty());
    });
}
