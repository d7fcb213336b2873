//! Builds a network lane: the server's disk, two namespaces, the programs of the server, the link, those of the client,
//! and the client's file system.

use super::build::{self, Builder, SOURCE};
use super::daemon::{Daemon, Ready};
use super::journal::Undo;
use super::kind::Transport;
use super::nfs_options::NfsOptions;
use super::{Lane, LaneSide, loops, namespace, own_program, throttle, tool};
use crate::LaneError;
use crate::error::DuringLane;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// The source of a FUSE export of qemu-storage-daemon in the list of mounts.
const QEMU_SOURCE: &str = "/dev/fuse";

impl Builder<'_> {
    /// Does all steps of a network lane.
    ///
    /// # Errors
    /// Those of the step that failed.
    pub(super) fn network(&mut self) -> Result<Lane, LaneError> {
        self.namespaces()?;
        let disk = self.server_disk()?;
        let mut lane = Lane { server_device: Some(disk.clone()), ..self.lane() };
        self.processes_of(LaneSide::Server)?;
        self.server(&mut lane, &disk)?;
        if self.spec.is_throttled() {
            // Users of the lane send its server requests; it is the server that reads and writes.
            let group = self.throttle(Some(&disk))?;
            limit(&group, &lane)?;
        }
        self.client(&mut lane)?;
        Ok(lane)
    }

    /// The programs of the server of this disk.
    fn server(&mut self, lane: &mut Lane, disk: &str) -> Result<(), LaneError> {
        let daemons = self.spec.transport.server(self.site, self.spec, disk)?;
        daemons.iter().try_for_each(|daemon| self.start(daemon, lane))
    }

    /// Starts the server of a lane again whose server was killed, on what its disk has, with its limits.
    pub(super) fn restart_server(&mut self, lane: &Lane, group: Option<&Path>) -> Result<Lane, LaneError> {
        let disk = lane.server_device.clone().unwrap_or_default();
        self.serve_files(&disk)?;
        let mut again = Lane { parts: Vec::new(), ..lane.clone() };
        self.server(&mut again, &disk)?;
        group.map_or(Ok(()), |group| limit(group, &again))?;
        again.parts.extend(lane.parts.iter().filter(|part| part.side != LaneSide::Server).cloned());
        Ok(again)
    }

    fn namespaces(&mut self) -> Result<(), LaneError> {
        self.step("creating the network")?;
        for side in [LaneSide::Server, LaneSide::Client] {
            let kept_by = self.site.namespace(side);
            File::create(&kept_by).during("make", &kept_by)?;
            self.journal.before(Undo::Namespace { kept_by: kept_by.clone() })?;
            namespace::make(&kept_by)?;
        }
        namespace::join(self.site, self.spec.mtu)?;
        namespace::set(self.site, &self.spec.tcp)
    }

    /// The server's disk: a loop device of its own, so that the kernel counts what the server reads, writes and
    /// flushes; with a file system if it serves files.
    fn server_disk(&mut self) -> Result<String, LaneError> {
        self.step("attaching the server's disk")?;
        self.image()?;
        self.connect()?;
        let backing = if self.spec.is_volatile { self.site.export() } else { self.site.image() };
        let has_files = self.spec.transport.has_served_files();
        if has_files {
            tool::run("mkfs.xfs", &["-q".as_ref(), "-f".as_ref(), backing.as_os_str()])?;
        }
        self.journal.before(Undo::Loop { backing: backing.clone() })?;
        let disk = loops::attach(&backing, None)?;
        if has_files {
            let served = self.site.served();
            fs::create_dir(&served).during("make", &served)?;
            self.journal.before(Undo::Mount { point: served, source: loops::path(&disk) })?;
            self.serve_files(&disk)?;
        }
        Ok(disk)
    }

    /// Mounts the server's file system.
    fn serve_files(&self, disk: &str) -> Result<(), LaneError> {
        build::mount_at(self.site, &self.site.served(), "xfs", &loops::path(disk), &self.server_options()?)
    }

    /// Options of mount for the server's file system.
    fn server_options(&self) -> Result<Vec<String>, LaneError> {
        match self.spec.transport {
            Transport::NfsFiles => Ok(NfsOptions::of(&self.spec.options).map_err(LaneError::Refused)?.server),
            _ => Ok(Vec::new()),
        }
    }

    /// The link, and what the client mounts.
    fn client(&mut self, lane: &mut Lane) -> Result<(), LaneError> {
        let (point, source) = match (self.spec.has_device(), self.spec.fuse_export) {
            (false, _) => (self.site.mount(), SOURCE),
            (true, false) => (self.site.fuse(), SOURCE),
            (true, true) => (self.site.export(), QEMU_SOURCE),
        };
        let mount = Undo::Mount { point, source: source.to_owned() };
        // Undone again after its processes: one of them may have been about to mount.
        self.journal.before(mount.clone())?;
        self.processes_of(LaneSide::Client)?;
        // Undone before its processes: while it is in use, they keep running.
        self.journal.before(mount)?;
        if let Some(delay) = self.spec.delay {
            self.start(&link(self.spec.transport, delay)?, lane)?;
        }
        if self.spec.has_device() {
            let fuse = self.site.fuse();
            fs::create_dir(&fuse).during("make", &fuse)?;
        }
        for daemon in self.spec.transport.client(self.site, self.spec)? {
            self.start(&daemon, lane)?;
        }
        match self.spec.has_device() {
            true => lane.device = Some(self.file_system().map_err(|error| self.mixed_up(error))?),
            false if self.spec.transport == Transport::NfsFiles => lane.operations = Some(self.site.operations()?),
            false => {}
        }
        Ok(())
    }

    /// A file system may fail before the check does, if a known fault changed what its own tools wrote.
    fn mixed_up(&self, error: LaneError) -> LaneError {
        match self.spec.fuse_export {
            false => error,
            true => LaneError::Environment(format!(
                "{} must not be measured: its export=fuse mixes up concurrent writes, and the file system did not \
                 survive that: {error}",
                self.spec.name()
            )),
        }
    }

    fn processes_of(&mut self, side: LaneSide) -> Result<(), LaneError> {
        self.journal.before(Undo::Processes { namespace: self.site.namespace(side) })
    }

    fn start(&mut self, daemon: &Daemon, lane: &mut Lane) -> Result<(), LaneError> {
        self.step(&format!("starting {}", daemon.program))?;
        lane.parts.push(daemon.start(self.site)?);
        Ok(())
    }
}

/// Puts the processes of a lane under its limits.
fn limit(group: &Path, lane: &Lane) -> Result<(), LaneError> {
    lane.parts.iter().try_for_each(|part| throttle::put(group, part.pid))
}

/// The link, which listens where the server would in the client's namespace.
fn link(transport: Transport, delay: Duration) -> Result<Daemon, LaneError> {
    let mut words = own_program("link")?;
    words.extend(["--listen", namespace::LINK, "--server", namespace::SERVER].map(str::to_owned));
    words.extend(transport.ports().iter().map(|port| format!("--port={port}")));
    words.push(format!("--delay={}us", delay.as_micros()));
    Ok(Daemon::new(LaneSide::Link, "link", words, Ready::Ports(transport.ports())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_has_all_ports_of_the_server() {
        let link = link(Transport::NfsImage, Duration::from_micros(1500)).unwrap();
        let line = link.words.join(" ");
        assert!(line.ends_with("--port=111 --port=20048 --port=2049 --delay=1500us"), "{line}");
        assert_eq!(link.ready, Ready::Ports(&[111, 20048, 2049]));
    }
}
