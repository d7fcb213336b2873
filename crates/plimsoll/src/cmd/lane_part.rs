//! `plimsoll lane-part`: the parts of a lane that run in this program; `plimsoll lane up` starts them.

use super::DONE;
use crate::args::{DeviceArgs, LanePart, LanePartArgs, NfsArgs};
use crate::terminal;
use plimsoll_faults::serve::DevicePlaces;
use plimsoll_lab::LabError;
use plimsoll_lanes::Lanes;
use plimsoll_lanes::disturb::Disturbance;
use plimsoll_lanes::link::{self, Link};
use plimsoll_lanes::nfs::MountOptions;
use plimsoll_lanes::nfs_options::Patience;
use std::time::Duration;

pub fn run(args: LanePartArgs) -> anyhow::Result<u8> {
    match args.part {
        LanePart::Link(args) => {
            let link = Link { listen: args.listen, server: args.server, ports: args.ports, delay: args.delay };
            link::run(&link).map_err(LabError::from)?;
        }
        LanePart::Device(args) => {
            let DeviceArgs { image, spool, socket, power } = args;
            plimsoll_faults::serve::serve(&DevicePlaces { image, spool, socket, orders: power })?;
        }
        LanePart::Disturb(args) => {
            let disturbance = args.link_milliseconds.map(Duration::from_millis).map(Disturbance::Link);
            let lanes = Lanes::of(&args.home);
            let done = lanes.disturb_here(&args.lane, disturbance.unwrap_or(Disturbance::ServerPower));
            terminal::result(&serde_json::to_string(&done.map_err(LabError::from)?)?)?;
        }
        LanePart::Nfs(args) => plimsoll_lanes::nfs::serve(&options(args))?,
    }
    Ok(DONE)
}

fn options(args: NfsArgs) -> MountOptions {
    MountOptions {
        nfs: args.nfs,
        mountd: args.mountd,
        export: args.export,
        mount: args.mount,
        source: args.source,
        attribute_seconds: args.attribute_seconds,
        rsize: args.rsize,
        wsize: args.wsize,
        operations: args.operations,
        is_async: args.is_async,
        patience: Patience {
            answer: Duration::from_millis(args.answer_milliseconds),
            give_up: Duration::from_millis(args.give_up_milliseconds),
        },
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_lanes::nfs::TRANSFER;
    use plimsoll_lanes::nfs_options::{LONGEST, SHORTEST};

    #[test]
    fn the_name_of_a_lane_and_its_client_accept_the_same_sizes() {
        assert_eq!(TRANSFER, SHORTEST..=LONGEST);
    }
}
