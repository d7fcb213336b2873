//! A device over iSCSI: tgt, which reads and writes the server's disk, and the initiator of QEMU (tgtd(8), tgtadm(8),
//! RFC 7143). The server uses a page cache, like those of the other transports; without one, tgt takes a minute for the
//! zeros that mkfs requests (WRITE SAME, sector by sector).

use super::super::LaneSide;
use super::super::daemon::{Daemon, Ready};
use super::super::namespace;
use super::super::site::Site;
use super::super::spec::Spec;
use super::qemu;
use crate::LaneError;
use serde_json::json;

/// Of iSCSI targets (IANA).
pub const PORT: u16 = 3260;
/// A name in the form of RFC 3721: the owner of the domain in that month assigns names.
const TARGET: &str = "iqn.2026-01.invalid.plimsoll:disk";

pub(super) fn server(site: &Site, disk: &str) -> Result<Vec<Daemon>, LaneError> {
    let portal = format!("portal={}:{PORT}", namespace::SERVER);
    let words = ["tgtd", "--foreground", "--iscsi", &portal].map(str::to_owned).to_vec();
    let control = |words: String| -> Vec<String> {
        let words = format!("tgtadm --lld iscsi {words}");
        words.split(' ').map(str::to_owned).collect()
    };
    Ok(vec![Daemon {
        // Otherwise it is one file of the machine, the same for all lanes.
        environment: vec![("TGT_IPC_SOCKET", site.control()?)],
        then: vec![
            control(format!("--op new --mode target --tid 1 --targetname {TARGET}")),
            control(format!(
                "--op new --mode logicalunit --tid 1 --lun 1 --backing-store /dev/{disk} --bstype rdwr \
                 --blocksize 512"
            )),
            control("--op bind --mode target --tid 1 --initiator-address ALL".to_owned()),
        ],
        ..Daemon::new(LaneSide::Server, "tgtd", words, Ready::Ports(&[PORT]))
    }])
}

pub(super) fn client(site: &Site, spec: &Spec) -> Result<Vec<Daemon>, LaneError> {
    let portal = format!("{}:{PORT}", super::address(spec));
    let options = json!({ "driver": "iscsi", "transport": "tcp", "portal": portal, "target": TARGET, "lun": 1 });
    qemu::client(site, spec, options)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, of};
    use super::*;

    #[test]
    fn the_target_is_made_once_the_server_answers() {
        let (site, spec) = of("iscsi");
        let server = server(&site, "loop7").unwrap();
        assert_eq!(server[0].environment, [("TGT_IPC_SOCKET", "/h/lanes/iscsi/tgtd.sock".into())]);
        assert!(server[0].then[1].join(" ").contains("--backing-store /dev/loop7 "), "{server:?}");
        let line = lines(client(&site, &spec).unwrap());
        assert!(line.contains(TARGET) && line.contains("nbdfuse") && line.contains("\"no-flush\":false"), "{line}");
        let (site, lying) = of("iscsi,cache=unsafe");
        assert!(lines(client(&site, &lying).unwrap()).contains("\"no-flush\":true"));
    }
}
