//! Plimsoll against its peers on this machine: sysbench, sysbench-tpcc, go-tpc, a bare send/receive loop, and
//! `LOAD DATA LOCAL` of prepared files, in turn on one private server; fio and sysbench's fileio, in turn on one file;
//! MySQLTuner and pt-variable-advisor, whose advice is tried. It prints medians, spreads and pair-by-pair ratios.
//!
//! It never asserts an absolute number, and never measures a contestant by anything but the same ruler: a process
//! of its own, its CPU time from the kernel when it ends. Nothing is subtracted from anybody.
//!
//! Begin with [`compare`] (what is compared, and what the targets are), then [`peers`] (one file per contestant),
//! [`arena`] and [`ground`] (the server and the file they meet on) and [`child`] (how a process is measured).

mod arena;
mod args;
mod child;
mod compare;
mod ground;
mod peers;
mod print;
mod pty;
mod stats;

use anyhow::{Context, bail};
use arena::{Arena, Tools};
use args::{Args, BenchCommand, BenchSuite};
use clap::Parser;
use compare::{BenchExtent, PeerComparison};
use ground::Ground;
use peers::brought::{GO_TPC, MYSQLTUNER, SYSBENCH_TPCC};
use plimsoll_host::Home;
use plimsoll_model::Build;
use plimsoll_server::find::Selector;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const MISSED: u8 = 1;
const FAILED: u8 = 3;
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(BenchCommand::Floor(floor)) => peers::floor::serve(floor).map(|()| true),
        Some(BenchCommand::Terminals(terminals)) => peers::terminals::serve(terminals).map(|()| true),
        Some(BenchCommand::Ledger(ledger)) => peers::ledger::serve(ledger).map(|()| true),
        Some(BenchCommand::Engines(engines)) => peers::engines::serve(engines).map(|()| true),
        None => bench(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(MISSED),
        Err(error) if error.is::<child::Interrupted>() => {
            eprintln!("plimsoll-bench: interrupted; the server is down");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            eprintln!("plimsoll-bench: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

/// Runs the comparisons. False if `--check` was asked for and a target is missed.
fn bench(args: &Args) -> anyhow::Result<bool> {
    let tools = Tools::find(interruption()?)?;
    let storage = wanted(args, BenchSuite::is_storage);
    if tools.fio.is_none() && storage.iter().any(|suite| suite.needs_fio()) {
        bail!(
            "FIO IS MISSING: install the package `fio` (Debian, Ubuntu: `apt install fio`), or leave it out by --only"
        );
    }
    let stages = stages(args)?;
    announce(args, &storage, &stages, &tools);
    allow_many_files();
    let (home, _temporary) = home(args, &tools)?;
    let extent = BenchExtent { pairs: args.pairs, load_pairs: args.load_pairs, seconds: args.seconds };
    show(&about(args, &tools))?;
    // First of all, while no server has anything left to flush.
    let mut comparisons = compare_storage(&storage, &home, &tools, &extent, args.markdown)?;
    for (build, suites) in &stages {
        let arena = Arena::open(build, &home, &tools)?;
        for suite in suites {
            let comparison = compare::run(*suite, &arena, &extent)?;
            show(&print::comparison(&comparison, args.markdown))?;
            comparisons.push(comparison);
        }
        arena.close()?;
    }
    show(&print::summary(&comparisons, args.markdown))?;
    let met = comparisons.iter().flat_map(|comparison| &comparison.findings).all(|finding| finding.met == Some(true));
    Ok(met || !args.check)
}

/// Makes the comparisons that need a file rather than a server.
fn compare_storage(
    suites: &[BenchSuite],
    home: &Home,
    tools: &Tools,
    extent: &BenchExtent,
    markdown: bool,
) -> anyhow::Result<Vec<PeerComparison>> {
    let parts: Vec<_> = suites.iter().flat_map(|suite| compare::io::parts(*suite, extent.seconds)).collect();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let ground = Ground::open(home, tools)?;
    let compared = parts.iter().map(|part| {
        let comparison = part.run(&ground, extent)?;
        show(&print::comparison(&comparison, markdown))?;
        Ok(comparison)
    });
    compared.collect()
}

/// Where the servers live, and what removes it at the end if it is temporary.
fn home(args: &Args, tools: &Tools) -> anyhow::Result<(Home, Option<TempDir>)> {
    // Beside the program: that is a disk, while the directory for temporary files may be memory.
    let beside = tools.plimsoll.parent().unwrap_or(Path::new("."));
    let (place, temporary) = match &args.home {
        Some(place) => (place.clone(), None),
        None => {
            let temporary =
                tempfile::Builder::new().prefix("bench-home-").tempdir_in(beside).context("making a home")?;
            (temporary.path().to_owned(), Some(temporary))
        }
    };
    let place = std::path::absolute(place)?.into_os_string();
    let home =
        Home::resolve(|name| if name == "PLIMSOLL_HOME" { Some(place.clone()) } else { std::env::var_os(name) })?;
    Ok((home, temporary))
}

/// What the figures are of.
fn about(args: &Args, tools: &Tools) -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let Args { pairs, seconds, load_pairs, .. } = args;
    let loads = load_pairs.unwrap_or(*pairs);
    format!(
        "plimsoll {} against {}{} on {cpus} CPUs, client and server together; in turn, {pairs} rounds of {seconds} s, \
         {loads} of loading",
        env!("CARGO_PKG_VERSION"),
        tools.sysbench,
        tools.fio.as_ref().map(|fio| format!(" and {fio}")).unwrap_or_default()
    )
}

/// The suites that were asked for, of one sort.
fn wanted(args: &Args, sort: impl Fn(BenchSuite) -> bool) -> Vec<BenchSuite> {
    let is_asked_for = |suite: &BenchSuite| match args.only.is_empty() {
        true => !suite.is_by_name_only(),
        false => args.only.contains(suite),
    };
    let is_wanted = |suite: &BenchSuite| sort(*suite) && is_asked_for(suite);
    BenchSuite::ALL.into_iter().filter(is_wanted).collect()
}

/// Which server is put through which comparisons. Unless told otherwise: the first that is found through all, and
/// the other flavour through those whose ratio depends on the server.
fn stages(args: &Args) -> anyhow::Result<Vec<(Build, Vec<BenchSuite>)>> {
    let suites = wanted(args, |suite| !suite.is_storage());
    if suites.is_empty() {
        return Ok(Vec::new());
    }
    if !args.server.is_empty() {
        let build = |selector| Ok((args::server(selector)?, suites.clone()));
        return args.server.iter().map(build).collect();
    }
    let first = args::server(&Selector::Auto)?;
    let second = args::other_flavour(first.flavour);
    let mut stages = vec![(first, suites)];
    match second {
        Some(build) => stages.push((build, wanted(args, BenchSuite::depends_on_server))),
        None => eprintln!("only one flavour of server is found, and runs everything; see --server"),
    }
    stages.retain(|(_, suites)| !suites.is_empty());
    Ok(stages)
}

fn announce(args: &Args, storage: &[BenchSuite], stages: &[(Build, Vec<BenchSuite>)], tools: &Tools) {
    let suites = || stages.iter().flat_map(|(_, suites)| suites);
    let seconds: u64 = storage.iter().chain(suites()).map(|suite| compare::expected_seconds(*suite, args)).sum();
    eprintln!("expected to take about {} minutes; Ctrl-C stops everything", seconds.div_ceil(60).max(1));
    let names = |suites: &[BenchSuite]| suites.iter().map(|suite| suite.name()).collect::<Vec<_>>().join(", ");
    if !storage.is_empty() {
        eprintln!("  files: {}", names(storage));
    }
    for (build, suites) in stages {
        eprintln!("  {} {}: {}", build.flavour, build.version, names(suites));
    }
    for (peer, place) in
        [(&GO_TPC, &tools.go_tpc), (&SYSBENCH_TPCC, &tools.sysbench_tpcc), (&MYSQLTUNER, &tools.mysqltuner)]
    {
        if place.is_none() && suites().any(|suite| suite.needs(peer)) {
            eprintln!("WARNING: {}", peer.missing());
        }
    }
    if cfg!(debug_assertions) {
        eprintln!("WARNING: this is a debug build; its figures, the floor's above all, mean nothing");
    }
}

/// Set by the first Ctrl-C; the second ends this process at once, and the kernel then ends its children.
fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::{consts, flag};
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [consts::SIGINT, consts::SIGTERM, consts::SIGHUP] {
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), interrupted.clone())?;
        flag::register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}

/// 2,000 connections need as many open files, on both sides; children inherit the limit.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A contestant that lacks files says so itself.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn show(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("writing the result")
}
