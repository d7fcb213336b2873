//! The two network namespaces of a network lane, a client's and a server's, joined by a pair of virtual Ethernet
//! devices (network_namespaces(7), veth(4)): like two machines with a cable, so that ports are free, two lanes can have
//! the same ones, and nothing can be reached from outside.
//!
//! A namespace is kept by a bind mount on a file of the lane (unshare(1), `--net=FILE`).

use super::site::Site;
use super::{Side, mounts, tool};
use crate::LaneError;
use std::path::Path;
use std::process::Command;

/// Addresses of documentation networks (RFC 5737), which nobody has.
pub const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Where the link of a delayed lane listens, in the client's namespace.
pub const LINK: &str = "127.0.0.1";
/// Of an Ethernet device where the lane's name says nothing, bytes.
const USUAL_MTU: u32 = 1500;

/// Makes one of the namespaces; the file of it must be there.
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
    let (client, server) = (site.namespace(Side::Client), site.namespace(Side::Server));
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

/// How unshare and nsenter are told which namespace is meant.
pub fn net_word(net: &Path) -> String {
    format!("--net={}", net.display())
}

/// Whether a namespace is kept by this file.
pub fn is_kept(net: &Path) -> bool {
    mounts::at(net).is_ok_and(|mount| mount.is_some_and(|mount| mount.filesystem == FILE_SYSTEM))
}

/// What the list of mounts calls the file system, and the source, of a namespace.
pub const FILE_SYSTEM: &str = "nsfs";
