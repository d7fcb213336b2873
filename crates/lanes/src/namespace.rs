//! The two network namespaces of a network lane, a client's and a server's, joined by a pair of virtual Ethernet
//! devices (network_namespaces(7), veth(4)): like two machines and a cable. All ports are free, two lanes can use the
//! same ones, and nothing can be reached from outside.
//!
//! A namespace is kept by a bind mount on a file of the lane (unshare(1), `--net=FILE`).

use super::site::Site;
use super::tcp::TcpSetting;
use super::{LaneSide, mounts, tool};
use crate::LaneError;
use std::path::Path;
use std::process::Command;

/// Addresses of documentation networks (RFC 5737), which nobody uses.
pub const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Where the link of a delayed lane listens, in the client's namespace.
pub const LINK: &str = "127.0.0.1";
/// MTU of an Ethernet device if the lane's name has none, bytes.
const USUAL_MTU: u32 = 1500;

/// Creates one of the namespaces; its file must exist.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel refuses it.
pub fn make(net: &Path) -> Result<(), LaneError> {
    tool::run("unshare", &[net_word(net).as_str(), "ip", "link", "set", "lo", "up"]).map(drop)
}

/// Joins the two.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel has no virtual Ethernet devices.
pub fn join(site: &Site, mtu: Option<u32>) -> Result<(), LaneError> {
    let (client, server) = (site.namespace(LaneSide::Client), site.namespace(LaneSide::Server));
    let (mtu, there) = (mtu.unwrap_or(USUAL_MTU), server.display());
    let pair = format!("link add eth0 mtu {mtu} type veth peer name eth0 mtu {mtu} netns");
    let mut words = ip(&pair);
    words.push(there.to_string());
    run(&client, &words)?;
    for (net, address) in [(&client, CLIENT), (&server, SERVER)] {
        run(net, &ip(&format!("address add {address}/30 dev eth0")))?;
        run(net, &ip("link set eth0 up"))?;
    }
    Ok(())
}

fn ip(words: &str) -> Vec<String> {
    std::iter::once("ip").chain(words.split(' ')).map(str::to_owned).collect()
}

/// Sets both ends' TCP.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel refuses a setting.
pub fn set(site: &Site, settings: &[TcpSetting]) -> Result<(), LaneError> {
    for net in [LaneSide::Server, LaneSide::Client].map(|side| site.namespace(side)) {
        for (name, value) in settings {
            let file = format!("/proc/sys/net/ipv4/tcp_{name}");
            let words = ["sh", "-c", "printf %s \"$1\" > \"$2\"", "sh", value, &file];
            run(&net, &words.map(str::to_owned))?;
        }
    }
    Ok(())
}

/// Cuts the cable between the two, or mends it: the server's end is taken down, with its route, and up again.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel refuses it.
pub fn carry(site: &Site, carries: bool) -> Result<(), LaneError> {
    let state = if carries { "up" } else { "down" };
    run(&site.namespace(LaneSide::Server), &ip(&format!("link set eth0 {state}")))
}

fn run(net: &Path, words: &[String]) -> Result<(), LaneError> {
    tool::finish(&words[0], command(net, words)?).map(drop)
}

/// The command that runs these words in a namespace; the process is that of the program itself.
///
/// # Errors
/// [`LaneError::Environment`] without nsenter.
pub fn command(net: &Path, words: &[String]) -> Result<Command, LaneError> {
    let mut command = tool::command("nsenter")?;
    command.arg(net_word(net)).args(words);
    Ok(command)
}

/// How unshare and nsenter name the namespace.
pub fn net_word(net: &Path) -> String {
    format!("--net={}", net.display())
}

/// Whether a namespace is kept by this file.
pub fn is_kept(net: &Path) -> bool {
    mounts::at(net).is_ok_and(|mount| mount.is_some_and(|mount| mount.filesystem == FILE_SYSTEM))
}

/// The file system type and the source of a namespace in the list of mounts.
pub const FILE_SYSTEM: &str = "nsfs";
