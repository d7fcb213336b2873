//! `plimsoll fleet`: who of a fleet is there, and a fleet of our own to try it.

use super::DONE;
use crate::args::{FleetAction, FleetArgs, UpArgs};
use crate::terminal::{self, Progress};
use plimsoll_fleet::own::{OwnAgent, OwnFleet, OwnPlace, RemoteAccess, name_of};
use plimsoll_fleet::{Fleet, Member};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::fleet::join;
use plimsoll_model::number::counted;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::plan::FleetPlan;
use plimsoll_record::read::{self, Entry};
use plimsoll_report::table::{Column, Table};
use plimsoll_report::terminal::table;
use plimsoll_watch::{Event, Watcher};
use serde::Serialize;
use std::thread;
use std::time::{Duration, Instant};

/// How often agents that are being started are asked for.
const LOOK: Duration = Duration::from_millis(200);

pub fn run(args: FleetArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let place = OwnPlace::of(home.path());
    match args.action {
        FleetAction::Status { fleet, json } => status(&place, fleet, json)?,
        FleetAction::Up(args) => up(&place, args)?,
        FleetAction::Down => {
            let ended = place.end().map_err(LabError::from)?;
            ended.iter().try_for_each(|done| terminal::result(done))?;
            if ended.is_empty() {
                terminal::note("no fleet was begun here");
            }
        }
    }
    Ok(DONE)
}

/// Starts a broker and agents, and prints its address.
fn up(place: &OwnPlace, args: UpArgs) -> anyhow::Result<()> {
    let mut progress = Progress::new(0)?;
    let of_others = args.names.iter().flat_map(|names| names.0.iter().cloned());
    let names: Vec<String> = here(&args).chain(args.hosts.iter().map(|host| name_of(host))).chain(of_others).collect();
    let mut own = match &args.fleet {
        Some(address) => place.begin_at(address),
        None => place.begin(args.listen.as_ref(), &names),
    }
    .map_err(LabError::from)?;
    progress.tell(Event::Doing("starting the agents"));
    let begun = begin_agents(place, &mut own, &args).and_then(|()| wait_for(place, &own, args.within, &progress));
    progress.clear();
    if begun.is_err() {
        place.end().map_err(LabError::from)?;
    }
    begun?;
    if !args.names.is_empty() {
        let (keys, directory) = (counted(names.len() as f64, "key"), place.keys());
        terminal::note(&format!(
            "{keys}, ca.pem and lab.cnf in {}; start `plimsoll agent --fleet 'tls://HOST:PORT?key=NAME.nk&ca=ca.pem' --name NAME --lab-login lab.cnf` with each",
            directory.display()
        ));
    }
    Ok(terminal::result(&own.address.to_string())?)
}

/// What agents on this machine are called.
fn here(args: &UpArgs) -> impl Iterator<Item = String> + use<> {
    (1..=args.local.unwrap_or_default()).map(|number| format!("a{number}"))
}

fn begin_agents(place: &OwnPlace, own: &mut OwnFleet, args: &UpArgs) -> anyhow::Result<()> {
    let mut words: Vec<String> =
        args.allow_target.iter().flat_map(|target| ["--allow-target".to_owned(), target.to_string()]).collect();
    if let Some(file) = &args.defaults_file {
        words.extend(["--defaults-file".to_owned(), file.display().to_string()]);
    }
    for name in here(args) {
        place.start_agent(own, &name, &words).map_err(LabError::from)?;
    }
    let Some(listen) = args.listen.clone() else { return Ok(()) };
    let ssh = args.ssh.split_whitespace().map(str::to_owned).collect();
    let access = RemoteAccess { ssh, program: args.remote_plimsoll.clone(), listen };
    for host in &args.hosts {
        place.start_agent_on(own, host, &access, &words).map_err(LabError::from)?;
    }
    Ok(())
}

/// Waits until all of them are there.
fn wait_for(place: &OwnPlace, own: &OwnFleet, within: Duration, progress: &Progress) -> anyhow::Result<()> {
    let fleet = joined(own.address.clone())?;
    let since = Instant::now();
    loop {
        let there = fleet.roll_call().map_err(LabError::from)?;
        let is_missing = |agent: &&OwnAgent| there.iter().all(|member| member.name != agent.name);
        let Some(missing) = own.agents.iter().find(is_missing) else { break };
        if progress.interrupted() {
            return Err(LabError::Interrupted.into());
        }
        if missing.has_ended() || since.elapsed() > within {
            let said = place.last_of(missing).map_or(String::new(), |said| format!(": {said}"));
            return Err(LabError::Environment(format!("the agent {} does not come{said}", missing.name)).into());
        }
        thread::sleep(LOOK);
    }
    if own.agents.is_empty() {
        return Ok(());
    }
    let agents = counted(own.agents.len() as f64, "agent");
    terminal::note(&format!("{agents} there; `plimsoll fleet down` ends what was begun"));
    Ok(())
}

/// What our own fleet is needed for, in words: a load that an agent has, or a recording that is being written, between
/// whose loads no agent has one.
///
/// # Errors
/// The recordings cannot be listed.
pub fn at_work(place: &OwnPlace, home: &Home) -> anyhow::Result<Option<String>> {
    let Some(own) = place.read().ok().flatten() else { return Ok(None) };
    let listing = read::list(&home.recordings()).map_err(LabError::from)?;
    if let Some(name) = user_among(listing.recordings) {
        return Ok(Some(format!("a fleet that {name} uses")));
    }
    let members = joined(own.address).and_then(|fleet| Ok(fleet.roll_call().map_err(LabError::from)?));
    let trial = members.unwrap_or_default().into_iter().find_map(|member| member.hello.trial);
    Ok(trial.map(|trial| format!("a fleet whose agents have the load of {trial}")))
}

/// The name of a recording that is being written and whose load agents make, if there is one.
fn user_among(recordings: Vec<Entry>) -> Option<String> {
    let uses = |entry: &Entry| entry.being_written && entry.manifest.plan.fleet().is_some();
    recordings.into_iter().find(uses).map(|entry| entry.manifest.name)
}

fn joined(broker: BrokerAddress) -> anyhow::Result<Fleet> {
    let plan = FleetPlan { broker, agents: None, tolerate_lost: 0, listen: None };
    join(Some(&plan))?.ok_or_else(|| LabError::Refused("no broker is named".to_owned()).into())
}

fn status(place: &OwnPlace, fleet: Option<BrokerAddress>, json: bool) -> anyhow::Result<()> {
    let address = match fleet {
        Some(fleet) => fleet,
        None => match place.read().map_err(LabError::from)? {
            Some(own) => own.address,
            None => {
                let why =
                    "no fleet was begun here: --fleet URL names another, `plimsoll fleet up --local 2` begins one";
                return Err(LabError::Refused(why.to_owned()).into());
            }
        },
    };
    let fleet = joined(address.clone())?;
    let members = fleet.roll_call().map_err(LabError::from)?;
    let clocks = fleet.clocks(&members, Instant::now(), &mut |_| {});
    let bounds = clocks.into_iter().map(|clock| clock.map(|clock| clock.bound_ns));
    let seen: Vec<Seen> = members.iter().zip(bounds).map(|(member, bound)| Seen::of(member, bound)).collect();
    if json {
        return Ok(terminal::json(&seen)?);
    }
    if seen.is_empty() {
        terminal::note(&format!("no agent is at {address}"));
        return Ok(());
    }
    Ok(terminal::styled(&table(&listing(&seen), terminal::look()))?)
}

/// An agent, as `status` shows it.
#[derive(Serialize)]
struct Seen {
    agent: String,
    machine: String,
    cpus: u32,
    version: String,
    /// How far its clock may be misjudged, microseconds; `null` if it did not say what time it is.
    clock_bound_us: Option<f64>,
    /// The trial whose load it has.
    trial: Option<String>,
}

impl Seen {
    fn of(member: &Member, bound_ns: Option<u64>) -> Seen {
        let Member { name, hello } = member.clone();
        Seen {
            agent: name,
            machine: hello.machine,
            cpus: hello.cpus,
            version: hello.build.version,
            clock_bound_us: bound_ns.map(|ns| ns as f64 / 1e3),
            trial: hello.trial,
        }
    }

    fn clock(&self) -> String {
        self.clock_bound_us.map_or("not known".to_owned(), |us| format!("± {us:.0} µs"))
    }
}

fn listing(seen: &[Seen]) -> Table {
    let words = |name: &str, cell: &dyn Fn(&Seen) -> String| Column::words(name, seen.iter().map(cell).collect());
    Table::new(vec![
        words("agent", &|seen| seen.agent.clone()),
        words("machine", &|seen| seen.machine.clone()),
        Column::numbers("CPUs", "", seen.iter().map(|seen| seen.cpus.to_string()).collect()),
        words("version", &|seen| seen.version.clone()),
        words("its clock is known to", &Seen::clock),
        words("load", &|seen| seen.trial.clone().unwrap_or_else(|| "none".to_owned())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::lab::file;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::Manifest;

    fn entry(name: &str, plan: Plan, being_written: bool) -> Entry {
        let started = "2026-11-21T19:30:00Z".parse().unwrap();
        let manifest = Manifest::new(name, "0.1.0", started, plan, HostFacts::default());
        Entry { directory: name.into(), manifest, being_written }
    }

    #[test]
    fn a_fleet_is_used_from_the_first_load_of_a_lab_to_its_last() {
        let text = "name = \"of-agents\"\n[workload]\nkind = \"tpcc\"\nscale = 2\n[load]\nconnections = [8]\n\
                    [fleet]\nbroker = \"nats://127.0.0.1:4222\"\n";
        let lab = file::read("lab.toml", text, file::PlanChoices::of_seed(1), &|_| Err(String::new())).unwrap();
        let of_agents = Plan::Lab(Box::new(lab));
        let alone = Plan::Storage(StoragePlan::default());
        let others = || vec![entry("alone", alone.clone(), true), entry("done", of_agents.clone(), false)];
        assert_eq!(user_among(others()), None);
        let mut all = others();
        all.push(entry("under-way", of_agents.clone(), true));
        assert_eq!(user_among(all).as_deref(), Some("under-way"));
    }
}
