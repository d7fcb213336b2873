//! Loads that agents make: what each is given, and how an agent makes its part of it.

use crate::adapter::{AskedOfData, WorkloadAdapter, begin_chosen};
use crate::error::LabError;
use crate::load_spec::spec_of;
use crate::login::Login;
use plimsoll_data::DataError;
use plimsoll_data::load::chunk::{Chunk, ChunkJob};
use plimsoll_data::load::{LoadHand, LoadHands, LoadSummary, load_with};
use plimsoll_data::target::{OpenTarget, external_endpoint, private_endpoint};
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::tls::Mode;
use plimsoll_engine::{Address, Endpoint, Run, RunSpec, Workload};
use plimsoll_fleet::{AgentJob, Fleet, FleetBuild, FleetError, FleetWish, JobHand, LoadMaker, LoopRange};
use plimsoll_host::Home;
use plimsoll_load::source::LoadFacts;
use plimsoll_model::{LoadPoint, NamedScalars};
use plimsoll_plan::allowed_target::AllowedTarget;
use plimsoll_plan::listen::ListenAddress;
use plimsoll_plan::plan::{FleetPlan, script_of};
use plimsoll_plan::{RunPlan, Target, Url};
use plimsoll_watch::Watcher;
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::dataset::Loaded;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More connections, and more loops, than any load has.
const MOST_CONNECTIONS: usize = 10_000_000;
const MOST_LOOPS: usize = 1 << 16;

/// Which program this is.
pub fn build() -> FleetBuild {
    FleetBuild::of(env!("CARGO_PKG_VERSION"))
}

/// A number that nobody else has.
pub fn incarnation() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What a plan wants of its fleet.
fn wish(plan: &FleetPlan) -> FleetWish {
    let FleetPlan { broker, agents, tolerate_lost, .. } = plan.clone();
    FleetWish { address: broker, agents, tolerate_lost, build: build() }
}

/// Joins the fleet of a plan, if it has one.
///
/// # Errors
/// The broker cannot be reached.
pub fn join(plan: Option<&FleetPlan>) -> Result<Option<Fleet>, LabError> {
    let join = |plan| Ok(Fleet::join(wish(plan), &format!("{:012x}", incarnation() >> 16))?);
    plan.map(join).transpose()
}

/// What an agent is given to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Assigned {
    plan: RunPlan,
    point: LoadPoint,
    target: AssignedTarget,
    asked: AskedOfData,
    loaded: Option<(NamedScalars, u64)>,
    run_seed: u64,
    /// What to ask of one connection of each loop.
    ask: Option<String>,
    /// The agent's loops, as numbers from the first on, of how many.
    loops: (usize, usize),
    of: usize,
}

/// Where it goes. No password is ever among it: agents have their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssignedTarget {
    server: AssignedServer,
    database: String,
    user: String,
}

impl AssignedTarget {
    fn of(target: &OpenTarget) -> AssignedTarget {
        let (database, user) = (target.database.clone(), target.endpoint.user.clone());
        AssignedTarget { server: server(target), database, user }
    }
}

/// The data that agents load together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssignedData {
    target: AssignedTarget,
    workload: String,
    /// Parameters as typed.
    typed: Vec<(String, String)>,
    seed: u64,
    /// An earlier load may have left something that is not marked.
    resumed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AssignedServer {
    /// A private server, which agents of its own machine reach.
    Private(PathBuf),
    /// A private server that listens there for agents on other machines, with the certificate of the fleet.
    Lab(ListenAddress),
    External {
        /// As it may be shown.
        url: String,
        ssl_mode: String,
    },
}

/// A load point that agents are to make.
pub(crate) struct PlannedLoad<'p, W> {
    pub plan: &'p RunPlan,
    pub point: LoadPoint,
    pub adapter: &'p WorkloadAdapter<'p, W>,
    pub asked: &'p AskedOfData,
    pub spec: &'p RunSpec,
}

impl<W: Workload> PlannedLoad<'_, W> {
    /// What is known of it before it begins; how many loops there are, the fleet says.
    pub fn facts(&self, workload: &W) -> LoadFacts {
        LoadFacts {
            names: workload.catalogue().names,
            loops: 0,
            tellers: 0,
            open_loop: self.spec.is_open_loop(workload),
            warmup_ns: self.spec.warmup_ns,
            limit: self.spec.limit,
        }
    }

    /// What agents are given, but for their loops.
    ///
    /// # Errors
    /// It is a load that agents cannot make.
    pub fn assigned(&self, target: &OpenTarget) -> Result<AssignedLoad, LabError> {
        if self.adapter.apart.is_some() {
            let text =
                "a script is not sent to agents: run it without --fleet, or use a workload of `plimsoll workloads`";
            return Err(LabError::Refused(text.to_owned()));
        }
        Ok(AssignedLoad(Assigned {
            plan: RunPlan { fleet: None, ..self.plan.clone() },
            point: self.point,
            target: AssignedTarget::of(target),
            asked: self.asked.clone(),
            loaded: self.adapter.loaded.clone(),
            run_seed: self.adapter.run_seed,
            ask: None,
            loops: (0, 0),
            of: 0,
        }))
    }
}

fn server(target: &OpenTarget) -> AssignedServer {
    match (&target.server, &target.listens) {
        (Some(_), Some(address)) => AssignedServer::Lab(address.clone()),
        (Some(server), None) => AssignedServer::Private(server.socket().to_owned()),
        (None, _) => {
            let mode = target.endpoint.tls.mode;
            let name = Mode::NAMES.into_iter().find(|(_, known)| *known == mode).map_or("preferred", |(name, _)| name);
            let url = match &target.endpoint.address {
                Address::Tcp { host, port } => Url { host: host.clone(), port: *port, ..Url::default() },
                Address::Unix(socket) => Url { socket: Some(socket.clone()), ..Url::default() },
            };
            AssignedServer::External { url: url.describe(), ssl_mode: name.to_owned() }
        }
    }
}

/// What all agents of a load are given.
pub(crate) struct AssignedLoad(Assigned);

impl AssignedLoad {
    /// What the agent with these loops is given.
    pub fn text(&self, range: &LoopRange, ask: Option<&str>) -> String {
        let mine = Assigned {
            ask: ask.map(str::to_owned),
            loops: (range.loops.start, range.loops.end),
            of: range.of,
            ..self.0.clone()
        };
        serde_json::to_string(&mine).expect("it has only text and numbers")
    }
}

/// Makes the parts of loads that this agent is given, on the targets that it allows.
pub struct AgentMaker {
    pub allowed: Vec<AllowedTarget>,
    pub login: Login,
    /// For private servers of labs on other machines, if it may load them.
    pub lab: Option<LabLogin>,
    pub home: Home,
}

/// How an agent logs in to private servers of labs on other machines.
pub struct LabLogin {
    pub user: String,
    pub password: Password,
    /// Who has signed their certificates, and nobody else's: that a server has one is why it may be loaded.
    pub authority: PathBuf,
}

impl LoadMaker for AgentMaker {
    type Load = Run;

    fn make(&mut self, assignment: &str) -> Result<Run, String> {
        let assigned: Assigned =
            serde_json::from_str(assignment).map_err(|error| format!("its assignment: {error}"))?;
        self.begin(assigned).map_err(|error| error.to_string())
    }

    fn job(&mut self, text: &str) -> Result<Arc<dyn AgentJob>, String> {
        let assigned: AssignedData = serde_json::from_str(text).map_err(|error| format!("its job: {error}"))?;
        let loading = || {
            let chosen = ChosenWorkload::new(&assigned.workload, &assigned.typed, None)?;
            let endpoint = self.endpoint(&assigned.target)?;
            Ok(ChunkJob::new(chosen.dataset(assigned.seed), endpoint, assigned.resumed))
        };
        let job = loading().map_err(|error: LabError| error.to_string())?;
        Ok(Arc::new(LoadingJob(job)))
    }
}

/// Writes chunks of a load.
struct LoadingJob(ChunkJob);

impl AgentJob for LoadingJob {
    fn piece(&self, text: &str) -> Result<u64, String> {
        let chunk: (usize, u64, u64) = serde_json::from_str(text).map_err(|error| format!("a chunk: {error}"))?;
        let (table, first, last) = chunk;
        self.0.write(&Chunk { table, first, last }).map_err(|error| error.to_string())
    }
}

/// Loads data with all agents of a fleet, over so many connections of each.
///
/// # Errors
/// As [`load_with`]; an agent that is missing, refuses, or is lost: the next load goes on.
pub fn load(
    target: &mut OpenTarget,
    plan: &FleetPlan,
    chosen: &ChosenWorkload,
    data: &LoadedData<'_>,
    watcher: &mut dyn Watcher,
) -> Result<LoadSummary, LabError> {
    let Some(fleet) = join(Some(plan))? else { return Err(LabError::Refused("no fleet is named".to_owned())) };
    let assigned = AssignedData {
        target: AssignedTarget::of(target),
        workload: chosen.name().to_owned(),
        typed: data.typed.to_vec(),
        seed: data.seed,
        resumed: false,
    };
    let job = OnceCell::new();
    let make = |resumed: bool, is_interrupted: &dyn Fn() -> bool| -> Result<Vec<Box<LoadHand<'_>>>, DataError> {
        let text = serde_json::to_string(&AssignedData { resumed, ..assigned.clone() }).expect("text and numbers");
        let begun = fleet.job(&text, is_interrupted).map_err(of_data)?;
        let hands = job.get_or_init(|| begun).hands(data.connections);
        Ok(hands.into_iter().map(of_hand).collect())
    };
    Ok(load_with(target, chosen.dataset(data.seed).as_ref(), &LoadHands::Elsewhere(&make), watcher)?)
}

/// What is loaded, and with how many connections of each agent.
pub struct LoadedData<'d> {
    /// Parameters as typed.
    pub typed: &'d [(String, String)],
    pub seed: u64,
    pub connections: usize,
}

fn of_hand<'h>(mut hand: JobHand<'h>) -> Box<LoadHand<'h>> {
    Box::new(move |chunk: &Chunk, is_interrupted: &dyn Fn() -> bool| {
        let text = serde_json::to_string(&(chunk.table, chunk.first, chunk.last)).expect("numbers");
        hand.piece(&text, is_interrupted).map_err(of_data)
    })
}

fn of_data(error: FleetError) -> DataError {
    match error {
        FleetError::Refused(text) => DataError::Refused(text),
        FleetError::Environment(text) => DataError::Environment(text),
        FleetError::Interrupted => DataError::Interrupted,
    }
}

impl AgentMaker {
    fn begin(&self, assigned: Assigned) -> Result<Run, LabError> {
        let Assigned { plan, point, asked, loaded, run_seed, ask, loops, of, .. } = &assigned;
        // What is made of it is this point alone.
        RunPlan { points: vec![*point], ..plan.clone() }.check()?;
        let is_odd = loops.0 >= loops.1 || loops.1 > *of || *of > point.connections.max(1) || !point.is_offerable();
        if script_of(&plan.workload).is_some() || is_odd || point.connections > MOST_CONNECTIONS || *of > MOST_LOOPS {
            return Err(LabError::Refused("an assignment that no coordinator of ours gives".to_owned()));
        }
        let endpoint = self.endpoint(&assigned.target)?;
        let typed: Vec<(String, String)> = plan.params.clone().into_iter().collect();
        let of_data = loaded.as_ref().map(|(parameters, seed)| Loaded { parameters, seed: *seed });
        let chosen = ChosenWorkload::new(&plan.workload, &typed, of_data)?;
        let private = !matches!(assigned.target.server, AssignedServer::External { .. });
        let spec = spec_of(endpoint, private, plan, point);
        // It lasts as long as the agent; one coordinator asks few different things.
        let ask = ask.as_deref().map(known_question).transpose()?;
        let spec = RunSpec { loops: *of, part: Some(loops.0..loops.1), ask, ..spec };
        begin_chosen(spec, &chosen, asked, loaded.as_ref().map(|(_, seed)| *seed), *run_seed)
    }

    fn endpoint(&self, assigned: &AssignedTarget) -> Result<Endpoint, LabError> {
        let reached = match &assigned.server {
            AssignedServer::Private(socket) => self.private(socket)?,
            AssignedServer::Lab(address) => self.of_lab(address)?,
            AssignedServer::External { url, ssl_mode } => self.external(assigned, url, ssl_mode)?,
        };
        Ok(Endpoint { database: Some(assigned.database.clone()), ..reached })
    }

    /// A server of our own, by a socket that is where ours are.
    fn private(&self, socket: &Path) -> Result<Endpoint, LabError> {
        let ours = self.home.socket("any")?;
        let is_ours = socket.parent() == ours.parent() && socket.components().all(|part| part.as_os_str() != "..");
        match self.allowed.contains(&AllowedTarget::Private) && is_ours {
            true => Ok(private_endpoint(socket)),
            false => Err(self.not_allowed(&format!("the private server at {}", socket.display()))),
        }
    }

    /// A private server of a lab elsewhere, which has to prove that it is one.
    fn of_lab(&self, address: &ListenAddress) -> Result<Endpoint, LabError> {
        let Some(LabLogin { user, password, authority }) = &self.lab else {
            return Err(self.not_allowed(&format!("the private server of a lab at {address} (that takes --lab-login)")));
        };
        let url = Url {
            host: address.host.clone(),
            port: address.port,
            ssl_mode: Some("verify-ca".to_owned()),
            ssl_ca: Some(authority.clone()),
            ..Url::default()
        };
        Ok(external_endpoint(&url, user, password.clone())?)
    }

    fn external(&self, assigned: &AssignedTarget, url: &str, ssl_mode: &str) -> Result<Endpoint, LabError> {
        let Target::External(url) = Target::parse(url)? else {
            return Err(LabError::Refused("a target that is no server".to_owned()));
        };
        let user = &assigned.user;
        if !self.allowed.iter().any(|allowed| allowed.allows(user, &url, &assigned.database)) {
            let named = Url { user: Some(user.clone()), database: Some(assigned.database.clone()), ..url };
            return Err(self.not_allowed(&named.describe()));
        }
        // How a password is protected is said by nobody but the agent's own option file.
        let Url { host, port, socket, .. } = url;
        let (user, ssl_mode) = (Some(user.clone()), Some(ssl_mode.to_owned()));
        let asked = Url { user, host, port, socket, ssl_mode, ..Url::default() };
        // What the agent's own option file says of TLS takes precedence.
        let (url, password) = self.login.of_allowed(asked);
        Ok(external_endpoint(&url, &assigned.user, password)?)
    }

    fn not_allowed(&self, what: &str) -> LabError {
        let allowed: Vec<String> = self.allowed.iter().map(ToString::to_string).collect();
        LabError::Refused(format!("{what} is none of the targets that it allows: {}", allowed.join(", ")))
    }
}

/// A question of a trial; an agent asks nothing else.
fn known_question(ask: &str) -> Result<&'static str, LabError> {
    let known = [crate::verification::QUESTION];
    known
        .into_iter()
        .find(|known| *known == ask)
        .ok_or_else(|| LabError::Refused("a question that no trial asks".to_owned()))
}

impl From<FleetError> for LabError {
    fn from(error: FleetError) -> LabError {
        match error {
            FleetError::Refused(text) => LabError::Refused(text),
            FleetError::Environment(text) => LabError::Environment(text),
            FleetError::Interrupted => LabError::Interrupted,
        }
    }
}

/// The password is for every target that the agent's user allowed by name, and so is what the option file says of how it is
/// protected on its way: that is no affair of a coordinator.
impl Login {
    fn of_allowed(&self, url: Url) -> (Url, Password) {
        let password = self.password.clone().unwrap_or_default();
        let Some(file) = &self.file else { return (url, password) };
        let protected = Url {
            ssl_mode: file.ssl_mode.clone().or(url.ssl_mode),
            ssl_ca: file.ssl_ca.clone().or(url.ssl_ca),
            server_public_key_path: file.server_public_key_path.clone().or(url.server_public_key_path),
            get_server_public_key: file.get_server_public_key.or(url.get_server_public_key),
            ..url
        };
        (protected, password)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::password_key::PasswordKey;
    use plimsoll_plan::plan::Measure;
    use plimsoll_testkit::simulated::run_plan;

    const TARGET: &str = "mysql://127.0.0.1:1/";

    fn maker(home: &Path) -> AgentMaker {
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| home.into())).unwrap();
        let allowed = vec![AllowedTarget::parse("mysql://127.0.0.1:1/*").unwrap()];
        AgentMaker { allowed, login: Login::default(), lab: None, home }
    }

    fn target(url: &str) -> AssignedTarget {
        let server = AssignedServer::External { url: url.to_owned(), ssl_mode: "disabled".to_owned() };
        AssignedTarget { server, database: "sbtest".to_owned(), user: "bench".to_owned() }
    }

    #[test]
    fn a_point_that_no_coordinator_of_ours_gives_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let maker = maker(home.path());
        let why = |measure: Measure, rate: f64| {
            let assigned = Assigned {
                plan: RunPlan { measure, ..run_plan(&[LoadPoint::closed(1)]) },
                point: LoadPoint { connections: 1, rate: Some(rate) },
                target: target(TARGET),
                asked: AskedOfData::Nothing,
                loaded: None,
                run_seed: 1,
                ask: None,
                loops: (0, 1),
                of: 1,
            };
            maker.begin(assigned).map(drop).unwrap_err().to_string()
        };
        for rate in [0.0, -1.0, 1e300] {
            let why = why(Measure::Seconds(1.0), rate);
            assert!(why.contains("no coordinator of ours gives"), "{rate}: {why}");
        }
        let why = why(Measure::EventsPerConnection(5), 100.0);
        assert!(why.contains("arrivals belong to no connection"), "{why}");
    }

    #[test]
    fn how_a_password_is_protected_is_said_by_the_option_file_alone() {
        let home = tempfile::tempdir().unwrap();
        let maker = maker(home.path());
        let hostile = format!("{TARGET}?get-server-public-key=true&ssl-ca=/nowhere.pem");
        let endpoint = maker.endpoint(&target(&hostile)).unwrap();
        assert_eq!((&endpoint.tls.key, endpoint.tls.mode), (&PasswordKey::None, Mode::Disabled));
        assert_eq!((endpoint.user.as_str(), endpoint.database.as_deref()), ("bench", Some("sbtest")));
        let file = Some(Url { get_server_public_key: Some(true), ..Url::default() });
        let maker = AgentMaker { login: Login { file, ..Login::default() }, ..maker };
        assert_eq!(maker.endpoint(&target(TARGET)).unwrap().tls.key, PasswordKey::Servers);
    }
}
