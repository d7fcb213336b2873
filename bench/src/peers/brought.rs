//! Peers that nobody installs for us and whose sources are none of ours: found where `scripts/bench-peers` puts them, or
//! where the environment says. Without them a comparison is left out, loudly.

use anyhow::bail;
use std::ffi::OsString;
use std::path::PathBuf;

/// How to get them; the words of `--help`.
pub const HOW: &str = "\
go-tpc, sysbench-tpcc and the latest mysqltuner are no part of Plimsoll: `scripts/bench-peers` clones and builds them. By hand: `git clone` of \
pingcap/go-tpc, in it `go build -o ~/.cache/plimsoll/peers/go-tpc ./cmd/go-tpc`; and `git clone` of \
Percona-Lab/sysbench-tpcc as ~/.cache/plimsoll/peers/sysbench-tpcc. Other places: PLIMSOLL_BENCH_GO_TPC (the program), \
PLIMSOLL_BENCH_SYSBENCH_TPCC (the directory with tpcc.lua). The latest mysqltuner, beside that of the \
distribution: `git clone` of major/MySQLTuner-perl as ~/.cache/plimsoll/peers/mysqltuner, or PLIMSOLL_BENCH_MYSQLTUNER \
(the directory with mysqltuner.pl). Optuna and SMAC3, of the Python registry: \
`scripts/bench-peers` makes the virtual environment ~/.cache/plimsoll/peers/tuners; PLIMSOLL_BENCH_TUNERS names another one.";

/// A peer that may be there.
#[derive(Debug, PartialEq, Eq)]
pub struct Brought {
    pub name: &'static str,
    /// Names its path.
    variable: &'static str,
    /// The file below that path that is needed; the path itself if empty.
    needed: &'static str,
    /// The file that `scripts/bench-peers` makes last below the path in the cache; none if empty.
    mark: &'static str,
}

pub const GO_TPC: Brought = Brought { name: "go-tpc", variable: "PLIMSOLL_BENCH_GO_TPC", needed: "", mark: "" };
pub const SYSBENCH_TPCC: Brought =
    Brought { name: "sysbench-tpcc", variable: "PLIMSOLL_BENCH_SYSBENCH_TPCC", needed: "tpcc.lua", mark: "" };
pub const MYSQLTUNER: Brought =
    Brought { name: "mysqltuner", variable: "PLIMSOLL_BENCH_MYSQLTUNER", needed: "mysqltuner.pl", mark: "" };

pub const TUNERS: Brought =
    Brought { name: "tuners", variable: "PLIMSOLL_BENCH_TUNERS", needed: "bin/python3", mark: ".whole" };

impl Brought {
    /// Its path, absolute; `None` if it is not there.
    ///
    /// # Errors
    /// That the environment names a path without it: a mistake, and no reason to leave something out.
    pub fn find(&self, lookup: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Option<PathBuf>> {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let is_there = |path: &PathBuf| match self.needed {
            "" => path.is_file(),
            file => path.join(file).is_file(),
        };
        if let Some(path) = set(self.variable) {
            if !is_there(&path) {
                bail!("{}={}: there is no {} there", self.variable, path.display(), self.name);
            }
            return Ok(Some(std::path::absolute(path)?));
        }
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        let is_whole = |path: &PathBuf| self.mark.is_empty() || path.join(self.mark).is_file();
        let brought = cache.map(|cache| cache.join("plimsoll/peers").join(self.name));
        Ok(brought.filter(is_there).filter(is_whole))
    }

    /// What is said where it is missing.
    pub fn missing(&self) -> String {
        format!("SKIPPED: {} is missing; see `plimsoll-bench --help` for how to get it", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_peer_is_found_in_the_cache_or_where_the_environment_says() {
        let home = tempfile::tempdir().unwrap();
        let peers = home.path().join(".cache/plimsoll/peers");
        let only_home = |name: &str| (name == "HOME").then(|| home.path().as_os_str().to_owned());
        assert_eq!(GO_TPC.find(only_home).unwrap(), None);
        fs::create_dir_all(peers.join("sysbench-tpcc")).unwrap();
        fs::write(peers.join("go-tpc"), "").unwrap();
        assert_eq!(GO_TPC.find(only_home).unwrap(), Some(peers.join("go-tpc")));
        assert_eq!(SYSBENCH_TPCC.find(only_home).unwrap(), None, "a directory without the scripts is none");
        fs::write(peers.join("sysbench-tpcc/tpcc.lua"), "").unwrap();
        assert!(SYSBENCH_TPCC.find(only_home).unwrap().is_some());
        fs::create_dir_all(peers.join("tuners/bin")).unwrap();
        fs::write(peers.join("tuners/bin/python3"), "").unwrap();
        assert_eq!(TUNERS.find(only_home).unwrap(), None, "an interrupted run has left it");
        fs::write(peers.join("tuners/.whole"), "").unwrap();
        assert!(TUNERS.find(only_home).unwrap().is_some());
        let named = |path: &'static str| move |name: &str| (name == GO_TPC.variable).then(|| path.into());
        assert_eq!(GO_TPC.find(named("")).unwrap(), None, "empty is as good as not set");
        let error = GO_TPC.find(named("nowhere/go-tpc")).unwrap_err().to_string();
        assert!(error.contains("PLIMSOLL_BENCH_GO_TPC=nowhere/go-tpc"), "{error}");
    }
}
