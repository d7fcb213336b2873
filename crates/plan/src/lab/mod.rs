//! The plan of a lab, resolved: presets merged, every default filled in, every value with the place that it came
//! from.
//!
//! [`file::read`] makes one from a plan file. It is kept in the manifest of its recording, from which a killed lab is
//! resumed.

pub mod change;
pub mod file;
pub mod flip;
pub mod pairs;
pub mod permission;
pub mod space;
pub mod trial;
pub mod tune;

pub use crate::origin::Where;
use crate::plan::{ArrivalSpread, FleetPlan, Measure};
pub use crate::setting::Setting;
pub use change::Change;
use plimsoll_model::Class;
use plimsoll_model::FaultKind;
use plimsoll_model::LoadPoint;
pub use plimsoll_model::published::{Printed, PublishedKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub use trial::{PlannedFault, PlannedTrial, SwitchbackBlock, TrialPlan};
pub use tune::TuneRules;

/// Nobody waits for more than this: it is a month of trials of half a minute.
pub const MOST_TRIALS: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabPlan {
    pub name: String,
    pub title: Option<String>,
    pub source: Option<String>,
    /// The chosen preset.
    pub preset: Option<String>,
    /// The build that was chosen in place of that of `[server]`.
    #[serde(default)]
    pub server: Option<String>,
    /// The file itself, for messages.
    pub file: String,
    pub seed: u64,
    pub trials: TrialRules,
    /// `[crash]`: besides its load each variant has its faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashRules>,
    /// `[tune]`: a search for better settings takes the place of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneRules>,
    /// `[fleet]`: the agents that make the load, if this process does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
    /// At least one, in the order of the file. Without `[[variant]]`, the one that `[server]` describes, called `base`.
    pub variants: Vec<Variant>,
    pub rungs: Vec<Rung>,
    pub collectors: Vec<Collector>,
    /// What the file says about the system, each value as text.
    pub described: BTreeMap<String, String>,
    /// What the source printed.
    pub published: Vec<Printed>,
    /// What the plan needs and the source does not print, and what was chosen and why, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<(String, String)>,
}

/// Trials without which a search is none: of today's configuration, of a few others, and of what confirms one.
const FEWEST_TUNE_TRIALS: f64 = 15.0;

impl LabPlan {
    /// What a search takes at least, seconds: less would not do more than look at today's configuration.
    pub fn least_tune_seconds(&self) -> f64 {
        let each = self.tune.as_ref().map_or(1.0, TuneRules::trials_each);
        FEWEST_TUNE_TRIALS * each * (self.trials.about_warm_up() + self.trials.about_measured())
    }

    /// Whether a variant has trials at a rate.
    pub fn is_open_loop(&self, variant: &Variant) -> bool {
        let load = &variant.load;
        load.find.is_some()
            || load.points.iter().any(|point| point.rate.is_some())
            || self.tune.as_ref().is_some_and(|rules| rules.line_within().is_some())
    }

    /// The least number of trials: in a ladder, those of its floor and of its rungs in their places.
    pub fn trials_at_least(&self) -> usize {
        let of_round: usize = self.variants.iter().map(|variant| variant.load.points.len()).sum();
        let pairs = if self.rungs.is_empty() { 1 } else { 2 * (1 + self.rungs.len()) };
        of_round.saturating_mul(pairs).saturating_mul(self.trials.rounds as usize)
    }

    /// The same plan with servers of this `build` (`auto`, `mariadb`, `mysql` or a path), in place of that of
    /// `[server]` and so for all variants that name none of their own.
    pub fn on(mut self, build: &str) -> LabPlan {
        for variant in self.variants.iter_mut().filter(|variant| !variant.names_its_build()) {
            build.clone_into(&mut variant.build);
            variant.lines.remove("build");
        }
        self.server = Some(build.to_owned());
        self
    }
}

/// What happens in each trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRules {
    pub restore: Restore,
    pub warmup: WarmUp,
    pub measure: Measure,
    pub pause_seconds: f64,
    /// With [`TrialRules::stopping`], at most so many.
    pub rounds: u32,
    /// `rounds = "auto"`: a comparison gets rounds until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<StoppingRule>,
    pub order: Order,
    /// What differs in live settings alone takes turns on one running server, where they are set back and forth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switchback: Option<SwitchbackRule>,
    /// End with kill -9 under load and time the crash recovery.
    pub recovery: bool,
    /// A setting that is not in effect is a caveat, not an error.
    pub lenient: bool,
    /// A search or a ladder does not wait until other processes leave the machine alone.
    #[serde(default)]
    pub noisy_host: bool,
    /// Take from changes what other programs and the hypervisor explain.
    #[serde(default)]
    pub explain: bool,
    /// Ask the tables for their checksums before measuring.
    pub checksums: bool,
    /// Classes that a rung may cost and still be kept.
    pub allow: Vec<Class>,
}

/// How long an automatic warm-up takes, and a measurement that ends by a number of transactions, seconds: guesses.
const UNTIL_STEADY: f64 = 60.0;
const BY_EVENTS: f64 = 30.0;

impl TrialRules {
    /// About how long a trial warms up, seconds.
    pub fn about_warm_up(&self) -> f64 {
        match self.warmup {
            WarmUp::Seconds(seconds) => seconds,
            WarmUp::Auto => UNTIL_STEADY,
        }
    }

    /// About how long it measures, seconds.
    pub fn about_measured(&self) -> f64 {
        match self.measure {
            Measure::Seconds(seconds) => seconds,
            Measure::Events(_) | Measure::EventsPerConnection(_) => BY_EVENTS,
        }
    }

    /// How a load warms up on a server that was started for it, or on one whose settings were flipped.
    pub fn warm_up(&self, is_flipped: bool) -> WarmUp {
        let washout = self.switchback.filter(|_| is_flipped).map(|rule| WarmUp::Seconds(rule.washout_seconds));
        washout.unwrap_or(self.warmup)
    }
}

/// What goes wrong, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrashRules {
    /// Each once.
    pub faults: Vec<FaultKind>,
    /// So many of each.
    pub trials: u32,
    /// A fault comes in the second half of this time under load, at a moment that is drawn for each.
    pub load_seconds: f64,
    /// The data of trials in which something was lost or damaged are kept as the fault left them.
    #[serde(default)]
    pub keep: bool,
    /// A fault of an earlier recording, which is repeated as it was. No plan file says so, but whoever repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<PlannedFault>,
}

/// When a comparison gets no more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// The share that counts as no difference; above 0, below 1.
    pub decide: f64,
    /// No round begins after its trials took so long together; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
    /// A gate asks only whether the second of two is slower than the first by more than this, a share: then that ends the
    /// rounds of variants, each of whose trials starts a server. No plan file says so, but whoever runs the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_if_slower: Option<f64>,
}

/// How variants, or the two sides of a rung, take turns on a running server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchbackRule {
    /// How long the load runs before each measured block.
    pub washout_seconds: f64,
    /// How long a block is measured; above 0.
    pub block_seconds: f64,
}

/// Where a trial's data come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// What the trial before left.
    None,
    /// A copy of the dataset for the first of a variant's consecutive trials, then what the one before left.
    Once,
    /// A copy of the dataset, made in the fastest way possible, or in this way.
    Snapshot(Option<Method>),
    /// Dropped and loaded again.
    Reload,
    /// By the user's own commands (an array's snapshot, LVM, ZFS), run with `sh -c` while the server is down.
    Commands(Vec<String>),
}

impl Restore {
    /// Whether data are copied from a dataset that is kept.
    pub fn copies(&self) -> bool {
        *self == Restore::Once || self.copies_for_each()
    }

    /// Whether that is done for every trial, so that none begins with what the one before it left.
    pub fn copies_for_each(&self) -> bool {
        matches!(self, Restore::Snapshot(_))
    }
}

/// A way to copy a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    Reflink,
    BtrfsSnapshot,
    ImageClone,
    Copy,
}

impl Method {
    pub const ALL: [Method; 4] = [Method::Reflink, Method::BtrfsSnapshot, Method::ImageClone, Method::Copy];

    pub fn name(self) -> &'static str {
        match self {
            Method::Reflink => "reflink",
            Method::BtrfsSnapshot => "btrfs-snapshot",
            Method::ImageClone => "image-clone",
            Method::Copy => "copy",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    Seconds(f64),
    /// Until throughput has settled.
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// In each round all variants at each load point, in a new random order.
    Interleaved,
    /// All of one variant, then all of the next.
    Sequential,
}

/// One way of setting things up, with nothing left open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    pub name: String,
    /// `auto`, `mariadb`, `mysql` or a path. Not used with a target.
    pub build: String,
    /// URL of an external server.
    pub target: Option<String>,
    /// Each name once; later sources have replaced earlier ones: `config_file`, `[server.config]`, the variant, rungs.
    pub config: Vec<Setting>,
    pub storage: Storage,
    pub layout: Layout,
    /// CPUs of the server, and of the load generator.
    pub cpus: Option<Vec<usize>>,
    pub client_cpus: Option<Vec<usize>>,
    /// Limit of the server's memory, bytes.
    pub memory: Option<u64>,
    pub env: BTreeMap<String, String>,
    pub workload: PlannedWorkload,
    pub load: Load,
    pub before: Vec<Action>,
    pub after: Vec<Action>,
    /// Where its values stand, by key: `datadir`, `layout.redo`, `memory`; also those that apply to all variants:
    /// `load.connections`, `trials.restore`, `server.build`.
    pub lines: BTreeMap<String, Where>,
}

impl Variant {
    /// Where the value of `key` stands; `None` for a default.
    pub fn at(&self, key: &str) -> Where {
        self.lines.get(key).cloned().unwrap_or_default()
    }

    /// Whether it names its server itself and does not leave that to `[server]`.
    fn names_its_build(&self) -> bool {
        self.lines.contains_key("build") && self.lines.get("build") != self.lines.get("server.build")
    }
}

/// Where the data of a private server are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// Below Plimsoll's home.
    #[default]
    Home,
    Directory(PathBuf),
    /// A storage lane, by its name.
    Lane(String),
}

/// Files stored apart from the data: on an absolute path, or on `./NAME`, another directory on the same storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    pub redo: Option<PathBuf>,
    pub doublewrite: Option<PathBuf>,
    pub undo: Option<PathBuf>,
    pub binlog: Option<PathBuf>,
    pub tmp: Option<PathBuf>,
    /// Single tables by name.
    pub tables: BTreeMap<String, PathBuf>,
}

impl Layout {
    pub fn is_empty(&self) -> bool {
        *self == Layout::default()
    }

    /// The directories of everything except single tables, by their keys.
    pub fn directories(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let Layout { redo, doublewrite, undo, binlog, tmp, tables: _ } = self;
        let all = [("redo", redo), ("doublewrite", doublewrite), ("undo", undo), ("binlog", binlog), ("tmp", tmp)];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }

    /// Everything stored apart from the data, by its key in a plan: `layout.redo`, `layout.tables.stock`.
    pub fn parts(&self) -> impl Iterator<Item = (String, &Path)> {
        let directories = self.directories().map(|(name, path)| (format!("layout.{name}"), path));
        let tables = self.tables.iter().map(|(name, path)| (format!("layout.tables.{name}"), path.as_path()));
        directories.chain(tables)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    /// `tpcc`, `oltp_read_write` …, or `io` for storage trials.
    pub kind: String,
    /// As typed, by kebab-case name.
    pub params: BTreeMap<String, String>,
    /// The seed of the data.
    pub seed: u64,
    /// The name of a saved dataset to use instead of loading one.
    pub dataset: Option<String>,
    /// What drives the data of `kind`, if that is not what usually does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PlannedScript>,
}

/// A Lua script, with the options that it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedScript {
    pub path: PathBuf,
    /// As typed, by their names with underscores.
    pub options: BTreeMap<String, String>,
}

impl PlannedWorkload {
    /// As a run names it.
    pub fn name(&self) -> String {
        match &self.script {
            Some(script) => format!("lua:{}", script.path.display()),
            None => self.kind.clone(),
        }
    }

    /// What a report shows of its parameters: those of the data, and a script's options.
    pub fn all_params(&self) -> BTreeMap<String, String> {
        let options = self.script.iter().flat_map(|script| script.options.clone());
        self.params.clone().into_iter().chain(options).collect()
    }

    /// Whether its trials measure storage, without a server.
    pub fn is_storage(&self) -> bool {
        self.kind == file::IO
    }

    /// The parameters as a command line has them.
    pub fn typed(&self) -> Vec<(String, String)> {
        self.params.clone().into_iter().collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub points: Vec<LoadPoint>,
    /// The objective: the highest rate that meets it is searched for, at each number of connections of `points`.
    pub find: Option<Objective>,
    pub arrivals: ArrivalSpread,
    pub loops: usize,
    /// `prepared` or `text`; the workload's own if not given.
    pub protocol: Option<String>,
    pub ignore_errors: Vec<u16>,
    pub outage_limit_seconds: f64,
}

/// `p99 < 20ms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// As written.
    pub text: String,
    /// 0 to 1.
    pub quantile: f64,
    pub limit_ms: f64,
}

/// Something to do outside of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run with `sh -c`, only if commands are allowed.
    Command(String),
    /// For a person, who says when it is done.
    Prompt(String),
}

/// A step of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    pub name: String,
    pub at: Where,
    pub change: Change,
}

/// A source of the user's own numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collector {
    pub name: String,
    pub command: String,
    pub every_seconds: f64,
    pub at: Where,
}
