//! Hunts until the time is over or something is found: `cargo run --package plimsoll-fuzz -- plans --seconds 600 --seed 7`.
//!
//! Ends with 0 if nothing was found, with 1 and the input if something was, with 3 if it could not begin. It writes
//! nothing else. Begin with [`plimsoll_fuzz::hunt`].

use anyhow::Context;
use clap::Parser;
use plimsoll_fuzz::hunt::{Hunt, HuntFinding, Until};
use plimsoll_fuzz::target::TargetKind;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

/// Gives inputs that nobody would write to what has to read them.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-fuzz", version, max_term_width = 100)]
struct Args {
    /// What is attacked.
    #[arg(value_enum)]
    target: TargetKind,
    /// How long.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// So many inputs, however long they take.
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    inputs: Option<u64>,
    /// The same seed makes the same inputs.
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// The number of the first input.
    #[arg(long, default_value_t = 0, value_name = "N")]
    from: u64,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("plimsoll-fuzz: {error:#}");
            ExitCode::from(3)
        }
    }
}

/// True if nothing was found.
fn run(args: &Args) -> anyhow::Result<bool> {
    let mut target = args.target.open()?;
    let until = args.inputs.map_or(Until::Time(Duration::from_secs(args.seconds)), Until::Inputs);
    match (Hunt { seed: args.seed, from: args.from, until }).run(target.as_mut()) {
        Ok(tally) => {
            let (target, refused) = (target.name(), tally.inputs - tally.read);
            println!("{target}: {} inputs, {} read to their end, {refused} refused", tally.inputs, tally.read);
            Ok(true)
        }
        Err(found) => tell(&found).map(|()| false),
    }
}

/// Says what was found, and keeps the input where it was not kept before.
fn tell(found: &HuntFinding) -> anyhow::Result<()> {
    eprintln!("{found}");
    let name = format!("plimsoll-fuzz-{}-{}-{}", found.target, found.seed, found.number);
    let path = std::env::temp_dir().join(name);
    fs::write(&path, &found.input).with_context(|| format!("the input cannot be kept as {}", path.display()))?;
    eprintln!("the input: {}", path.display());
    Ok(())
}
