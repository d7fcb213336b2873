//! Faults under load, and what they cost: of each trial what was lost, of all of a variant's how often.

use crate::durability::{Class, Risks};
use crate::estimate::Estimate;
use crate::number::counted;
use serde::{Deserialize, Serialize};

/// What goes wrong under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The server is killed with SIGKILL.
    Kill,
    /// Server and storage end at once; what the device had not flushed is lost.
    Power,
    /// The same, but of what was not flushed a random part of the sectors survives.
    Torn,
    /// The same, but of what was not flushed random writes survive as a whole, later ones without earlier ones.
    Reorder,
    /// A write or a flush fails, once or for good.
    IoError,
    /// The device is full.
    Full,
    /// Flushes are acknowledged and not done, then the power is cut: what a test of durability has to find.
    Lying,
    /// The storage server loses its power and comes back, while the database server goes on.
    ServerPower,
    /// The link to the storage server is gone for some seconds.
    Cut,
    /// The link to a replica is cut, the server is killed a moment later, and the replica takes over.
    Replica,
    /// An online copy of the data is made; nothing goes wrong, and the copy is what is looked at.
    Backup,
}

/// What a fault needs of the place of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultNeeds {
    Nothing,
    /// A device that is made for it, which can lose its power, fail, and be filled.
    Device,
    /// A network between the server and its storage.
    Network,
    /// A storage server whose device can lose its power.
    StorageServer,
}

impl FaultKind {
    pub const ALL: [FaultKind; 11] = [
        FaultKind::Kill,
        FaultKind::Power,
        FaultKind::Torn,
        FaultKind::Reorder,
        FaultKind::IoError,
        FaultKind::Full,
        FaultKind::Lying,
        FaultKind::ServerPower,
        FaultKind::Cut,
        FaultKind::Replica,
        FaultKind::Backup,
    ];

    /// As it is written in plans, recordings and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::Power => "power",
            FaultKind::Torn => "torn",
            FaultKind::Reorder => "reorder",
            FaultKind::IoError => "io-error",
            FaultKind::Full => "full",
            FaultKind::Lying => "lying",
            FaultKind::ServerPower => "server-power",
            FaultKind::Cut => "cut",
            FaultKind::Replica => "replica",
            FaultKind::Backup => "backup",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// One of them, in words: `kill`, `power cut`.
    pub fn words(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::Power => "power cut",
            FaultKind::Torn => "power cut with torn writes",
            FaultKind::Reorder => "power cut with reordered writes",
            FaultKind::IoError => "I/O error",
            FaultKind::Full => "full device",
            FaultKind::Lying => "power cut of a lying device",
            FaultKind::ServerPower => "power cut of the storage server",
            FaultKind::Cut => "cut of the link to the storage",
            FaultKind::Replica => "kill of a primary whose replica took over",
            FaultKind::Backup => "online backup",
        }
    }

    /// So many of them, in words: `20 power cuts with torn writes`.
    pub fn counted(self, count: usize) -> String {
        // It is the cuts that are counted.
        let words = self.words();
        let noun = [" of ", " with "].iter().filter_map(|word| words.find(word)).min().unwrap_or(words.len());
        format!("{}{}", counted(count as f64, &words[..noun]), &words[noun..])
    }

    pub fn needs(self) -> FaultNeeds {
        match self {
            FaultKind::Kill | FaultKind::Replica | FaultKind::Backup => FaultNeeds::Nothing,
            FaultKind::Cut => FaultNeeds::Network,
            FaultKind::ServerPower => FaultNeeds::StorageServer,
            FaultKind::Power
            | FaultKind::Torn
            | FaultKind::Reorder
            | FaultKind::IoError
            | FaultKind::Full
            | FaultKind::Lying => FaultNeeds::Device,
        }
    }

    /// Whether a server whose settings have these classes may lose acknowledged commits by it and be whole: a lying device makes
    /// every promise void, and no class promises that a replica has everything.
    pub fn excuses_loss(self, risks: &Risks) -> bool {
        match self {
            FaultKind::Lying | FaultKind::Replica => true,
            FaultKind::Kill => risks.contains(&Class::D1p),
            _ => risks.contains(&Class::D1) || risks.contains(&Class::D1p),
        }
    }

    /// Whether such a server may leave damaged data. Whoever says that the last second may be missing says that the rest is
    /// whole; and nothing happens to a replica that takes over, or to a copy.
    pub fn excuses_damage(self, risks: &Risks) -> bool {
        match self {
            FaultKind::Lying => true,
            FaultKind::Replica | FaultKind::Backup => false,
            _ => risks.contains(&Class::D2) || risks.contains(&Class::D3),
        }
    }
}

/// What became of a server after a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashEnd {
    /// It answers again.
    Answered,
    /// It does not start again, for this reason.
    NotStarted(String),
    /// The file system cannot be mounted any more, for this reason.
    FileSystem(String),
}

/// What one fault did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrashOutcome {
    pub fault: FaultKind,
    /// Of everything about it that is drawn.
    pub seed: u64,
    /// How it was done, where there are several ways: `every flush fails`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// From the first commit to the fault, seconds.
    pub after_seconds: f64,
    /// Commits of all kinds that clients had been told of by then: where it happens again.
    pub after_commits: u64,
    /// Commits with something in them to be found again, of which clients were told at any time.
    pub acknowledged: u64,
    /// Those of them that are missing after recovery; none where the data could not be looked at.
    pub lost: Option<u64>,
    /// From the first answer to a lost commit to the fault, seconds.
    pub lost_seconds: Option<f64>,
    /// Commits that are there and that nobody was told of.
    pub unacknowledged: Option<u64>,
    /// Commits whose answer nobody heard, where commits are not told apart: each of them that is there hides one that is lost.
    #[serde(default)]
    pub hidden: u64,
    /// From the beginning of a load on the recovered server, once it was looked at, until it carries again what it carried
    /// before the fault, seconds; none if that was not reached, or not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_seconds: Option<f64>,
    /// Writes that the device had not flushed, and how many of their bytes survived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed: Option<UnflushedWrites>,
    /// Of a replica that took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<CutOff>,
    /// Of an online copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyFacts>,
    pub end: CrashEnd,
    /// Whether the server, or the checksums of its pages, speak of pages that are written by half.
    pub is_torn: bool,
    /// Tables that CHECK TABLE found damaged, files with pages whose checksum is wrong, and what is wrong with the file
    /// system.
    pub corrupt: Vec<String>,
    /// Invariants of the data that do not hold.
    pub broken: Vec<String>,
    /// Where in the trial's directory the data are kept as the fault left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// What a device that lost its power had not made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnflushedWrites {
    pub writes: u64,
    pub bytes: u64,
    pub survived_bytes: u64,
    /// Of which a part survived.
    pub torn: u64,
}

/// A replica whose link to its primary was cut before the primary was killed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutOff {
    /// The primary still waited for the replica before it told clients of a commit.
    pub semi_synchronous: bool,
    /// Of the primary's binary log, at the cut; none if the two were not in the same file.
    pub unreceived_bytes: Option<u64>,
    /// From the cut to the kill, seconds.
    pub cut_seconds: f64,
}

/// An online copy that was made under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyFacts {
    /// `reflink`, `mariadb-backup`.
    pub method: String,
    /// From its beginning to its end.
    pub seconds: f64,
    /// How long the server was paused, if it was.
    pub paused_seconds: Option<f64>,
    /// Commits per second before it.
    pub commits_before: f64,
    pub commits_during: f64,
    pub commits_after: f64,
}

impl CrashOutcome {
    /// Whether a commit that a client was told of is not there, or nothing is.
    pub fn loses(&self) -> bool {
        self.lost != Some(0)
    }

    /// Whether the data are not what a server may leave: damaged, halved, or out of reach.
    pub fn damages(&self) -> bool {
        self.end != CrashEnd::Answered || !self.corrupt.is_empty() || !self.broken.is_empty()
    }
}

/// What all faults of one kind did to a variant. The fault is the unit, not the commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrashCell {
    pub variant: String,
    pub fault: FaultKind,
    /// Trials in which the fault happened.
    pub faults: usize,
    /// Trials that failed before, or that nobody could judge.
    pub failed: usize,
    pub acknowledged: u64,
    /// Faults after which an acknowledged commit was missing.
    pub losing: usize,
    /// Those of them that damaged nothing: what is there is whole, and a commit is not.
    #[serde(default)]
    pub losing_whole: usize,
    /// Those after which nobody could tell how much is missing: the server answered, and died while it was looked at.
    #[serde(default)]
    pub untold: usize,
    /// Share of such faults, with its 95 % interval (Clopper and Pearson 1934).
    pub loss: Option<Estimate>,
    /// Commits that were missing, of all faults.
    pub lost: u64,
    /// Of the faults that lost something, the median of the seconds that they lost, and the most.
    pub lost_seconds: Option<f64>,
    pub worst_seconds: Option<f64>,
    /// Commits that were there and that nobody was told of.
    pub unacknowledged: u64,
    /// Where commits are not told apart: so many more may be missing, behind as many that nobody was told of.
    #[serde(default)]
    pub hidden: u64,
    /// Faults after which the server did not start again, or the file system could not be mounted.
    pub not_started: usize,
    /// Faults after which pages were written by half.
    pub torn: usize,
    /// Faults after which tables, pages or invariants were damaged.
    pub damaged: usize,
    /// From the start of the server to its first answer, the median, seconds.
    pub recovery_seconds: Option<f64>,
    /// Redo that it had to read for that, the median, bytes.
    #[serde(default)]
    pub redo_bytes: Option<f64>,
    /// From the beginning of a load on it until it carried again what it had carried, the median of the faults after which it
    /// did, seconds.
    #[serde(default)]
    pub full_seconds: Option<f64>,
    /// Trials whose data are kept as the fault left them.
    #[serde(default)]
    pub kept: usize,
    /// The classes of what is in effect.
    pub risks: Risks,
    /// Those whose losses are accepted although the settings do not announce them.
    #[serde(default)]
    pub allowed: Risks,
    /// Of replicas that took over: the primary waited for them before it told clients of a commit.
    #[serde(default)]
    pub semi_synchronous: bool,
    /// Of online copies: how long one took, the median, seconds.
    #[serde(default)]
    pub copy_seconds: Option<f64>,
    /// And what the server carried meanwhile, as a share of what it carried before, the median.
    #[serde(default)]
    pub copy_throughput: Option<f64>,
}

impl CrashCell {
    /// Whether it lost or damaged what its settings promise to keep.
    pub fn breaks_its_promise(&self) -> bool {
        let risks = &self.risks | &self.allowed;
        let loses = self.losing_whole > 0 && (!self.fault.excuses_loss(&risks) || self.semi_synchronous);
        loses || self.damaged > 0 && !self.fault.excuses_damage(&risks)
    }

    /// One of its faults, in words.
    pub fn words(&self) -> String {
        self.fault.words().to_owned() + self.mode()
    }

    /// All of them: `20 power cuts with torn writes`.
    pub fn counted(&self) -> String {
        self.fault.counted(self.faults) + self.mode()
    }

    fn mode(&self) -> &'static str {
        if self.semi_synchronous { " (semi-synchronous)" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_names_of_their_own() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::named(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(FaultKind::named("fire"), None);
    }

    #[test]
    fn it_is_the_cuts_that_are_counted() {
        let told = FaultKind::ALL.map(|kind| kind.counted(2));
        assert_eq!(told[..3], ["2 kills", "2 power cuts", "2 power cuts with torn writes"]);
        assert_eq!(told[6], "2 power cuts of a lying device");
        assert_eq!(FaultKind::Reorder.counted(1), "1 power cut with reordered writes");
        assert_eq!(told[9..], ["2 kills of a primary whose replica took over", "2 online backups"]);
        assert_eq!(FaultKind::Cut.counted(3), "3 cuts of the link to the storage");
    }

    #[test]
    fn a_class_excuses_what_it_announces() {
        let excuses = |kind: FaultKind, class: Class| kind.excuses_loss(&Risks::from([class]));
        assert!(!excuses(FaultKind::Kill, Class::D1) && excuses(FaultKind::Kill, Class::D1p));
        assert!(excuses(FaultKind::Power, Class::D1) && !excuses(FaultKind::Power, Class::D2));
        assert!(!FaultKind::Torn.excuses_loss(&Risks::new()) && FaultKind::Lying.excuses_loss(&Risks::new()));
        let excuses = |kind: FaultKind, class: Class| kind.excuses_damage(&Risks::from([class]));
        assert!(!excuses(FaultKind::Power, Class::D1) && excuses(FaultKind::Power, Class::D2));
        assert!(!excuses(FaultKind::Replica, Class::D2) && FaultKind::Lying.excuses_damage(&Risks::new()));
    }
}
