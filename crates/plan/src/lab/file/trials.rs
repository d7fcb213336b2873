//! `[trials]`: what happens in each trial.

use super::reading::TableFields;
use super::value::{DocumentValue, Kind};
use crate::error::PlanError;
use crate::lab::{Method, Order, Restore, StoppingRule, SwitchbackRule, TrialRules, WarmUp, Where};
use crate::plan::Measure;
use crate::quantity;
use plimsoll_model::Class;
use std::ops::RangeInclusive;

const KEYS: [&str; 19] = [
    "restore",
    "warmup",
    "measure",
    "pause",
    "rounds",
    "decide",
    "max_rounds",
    "max_time",
    "order",
    "switchback",
    "washout",
    "block",
    "recovery",
    "lenient",
    "noisy_host",
    "explain",
    "checksums",
    "allow",
    "seed",
];
const WARM_UP: WarmUp = WarmUp::Seconds(10.0);
const MEASURE: Measure = Measure::Seconds(30.0);
const ROUNDS: u32 = 3;
/// At most, where comparisons decide how many.
const MAX_ROUNDS: u32 = 40;
const DECIDE: f64 = 0.02;
const WASH_OUT: f64 = 1.0;
const BLOCK: f64 = 2.0;
/// What has no meaning with a number of rounds.
const OF_AUTO: [&str; 3] = ["decide", "max_rounds", "max_time"];
pub(super) const ROUNDS_ACCEPTED: RangeInclusive<u64> = 1..=1000;
/// Fewer cannot decide anything.
pub(super) const AUTO_ROUNDS_ACCEPTED: RangeInclusive<u64> = 3..=1000;

/// Reads `[trials]` and its seed, if it has one. `restore` is the default.
pub(super) fn rules(table: &DocumentValue, restore: Restore) -> Result<(TrialRules, Option<u64>), PlanError> {
    let fields = table.fields(&KEYS)?;
    let (rounds, stopping) = rounds(&fields)?;
    let switchback = switchback(&fields)?;
    let rules = TrialRules {
        restore: fields.read("restore", restored)?.unwrap_or(restore),
        warmup: fields.read("warmup", warm_up)?.unwrap_or(WARM_UP),
        measure: fields.read("measure", measure)?.unwrap_or(MEASURE),
        pause_seconds: fields.read("pause", DocumentValue::seconds)?.unwrap_or(0.0),
        rounds,
        stopping,
        order: fields.read("order", order)?.unwrap_or(Order::Interleaved),
        switchback,
        recovery: fields.switch("recovery")?,
        lenient: fields.switch("lenient")?,
        noisy_host: fields.switch("noisy_host")?,
        // Blocks of seconds are too short to be explained.
        explain: fields.read("explain", DocumentValue::truth)?.unwrap_or(switchback.is_none()),
        checksums: fields.switch("checksums")?,
        allow: fields.read("allow", |value| value.list_of(class))?.unwrap_or_default(),
    };
    let seed = fields.read("seed", |value| value.count(0..=u64::MAX))?;
    Ok((rules, seed))
}

fn switchback(fields: &TableFields<'_>) -> Result<Option<SwitchbackRule>, PlanError> {
    match (fields.switch("switchback")?, ["washout", "block"].into_iter().find_map(|key| fields.get(key))) {
        (false, Some(value)) => Err(value.problem(format!("{} goes with switchback = true", value.name))),
        (false, None) => Ok(None),
        (true, _) => Ok(Some(SwitchbackRule {
            washout_seconds: fields.read("washout", DocumentValue::seconds)?.unwrap_or(WASH_OUT),
            block_seconds: fields.read("block", DocumentValue::some_seconds)?.unwrap_or(BLOCK),
        })),
    }
}

/// Puts `rounds`, which is `auto` or a number, in the place of what a plan says.
pub(super) fn set_rounds(document: &mut DocumentValue, rounds: &str) {
    let at = Where { file: "--rounds".to_owned(), line: 1 };
    let kind = rounds.parse().map_or(Kind::Text(rounds.to_owned()), Kind::Integer);
    let is_auto = matches!(kind, Kind::Text(_));
    let value = DocumentValue { name: "trials.rounds".to_owned(), at: at.clone(), kind };
    let table = |name: &str, key: &str, value| DocumentValue {
        kind: Kind::Table(vec![(key.to_owned(), value)]),
        ..DocumentValue::nothing(name, at.clone())
    };
    document.lay_over(table("", "trials", table("trials", "rounds", value)));
    let Kind::Table(sections) = &mut document.kind else { return };
    for (_, section) in sections.iter_mut().filter(|(key, _)| key == "trials" && !is_auto) {
        if let Kind::Table(entries) = &mut section.kind {
            entries.retain(|(key, _)| !OF_AUTO.contains(&key.as_str()));
        }
    }
}

/// A number of rounds, or the most that there may be and what ends them sooner.
fn rounds(fields: &TableFields<'_>) -> Result<(u32, Option<StoppingRule>), PlanError> {
    let is_auto = |value: &DocumentValue| matches!(&value.kind, Kind::Text(text) if text == "auto");
    if !fields.get("rounds").is_some_and(is_auto) {
        let of_auto = OF_AUTO.into_iter().find_map(|key| fields.get(key));
        return match of_auto {
            Some(value) => Err(value.problem(format!("{} goes with rounds = \"auto\"", value.name))),
            None => Ok((fields.read("rounds", some_rounds)?.map_or(ROUNDS, |rounds| rounds as u32), None)),
        };
    }
    let most = fields
        .read("max_rounds", |value| value.count(AUTO_ROUNDS_ACCEPTED))?
        .map_or(MAX_ROUNDS, |rounds| rounds as u32);
    let decide = fields.read("decide", |value| value.parsed(quantity::percent))?.unwrap_or(DECIDE);
    let max_seconds = fields.read("max_time", DocumentValue::some_seconds)?;
    Ok((most, Some(StoppingRule { decide, max_seconds, fail_if_slower: None })))
}

fn some_rounds(value: &DocumentValue) -> Result<u64, PlanError> {
    match value.kind {
        Kind::Text(_) => Err(value.refuse("a whole number from 1 to 1000, without quotes, or \"auto\"")),
        _ => value.count(ROUNDS_ACCEPTED),
    }
}

fn restored(value: &DocumentValue) -> Result<Restore, PlanError> {
    const ACCEPTED: &str =
        "none, once, snapshot, reflink, btrfs-snapshot, image-clone, copy, reload or { commands = […] }";
    let method = |name: &str| Method::ALL.into_iter().find(|method| method.name() == name);
    match &value.kind {
        Kind::Table(_) => {
            let fields = value.fields(&["commands"])?;
            let commands = |value: &DocumentValue| value.some_of(|one| one.text().map(str::to_owned));
            fields.need("commands", "a list of commands", commands).map(Restore::Commands)
        }
        Kind::Text(text) => match text.as_str() {
            "none" => Ok(Restore::None),
            "once" => Ok(Restore::Once),
            "snapshot" => Ok(Restore::Snapshot(None)),
            "reload" => Ok(Restore::Reload),
            other => method(other).map(|method| Restore::Snapshot(Some(method))).ok_or_else(|| value.refuse(ACCEPTED)),
        },
        _ => Err(value.refuse(ACCEPTED)),
    }
}

fn warm_up(value: &DocumentValue) -> Result<WarmUp, PlanError> {
    match &value.kind {
        Kind::Text(text) if text == "auto" => Ok(WarmUp::Auto),
        Kind::Text(_) => value.seconds().map(WarmUp::Seconds),
        _ => Err(value.refuse("a duration such as 10s or 15m, or auto")),
    }
}

fn measure(value: &DocumentValue) -> Result<Measure, PlanError> {
    let events = |value: &DocumentValue| value.count(1..=u64::MAX);
    match &value.kind {
        Kind::Table(_) => {
            let fields = value.fields(&["events", "events_per_connection"])?;
            match (fields.read("events", events)?, fields.read("events_per_connection", events)?) {
                (Some(all), None) => Ok(Measure::Events(all)),
                (None, Some(each)) => Ok(Measure::EventsPerConnection(each)),
                _ => Err(value.refuse("{ events = N } or { events_per_connection = N }, one of them")),
            }
        }
        Kind::Text(_) => value.some_seconds().map(Measure::Seconds),
        _ => Err(value.refuse("a duration such as 30s or 10m, { events = N } or { events_per_connection = N }")),
    }
}

fn order(value: &DocumentValue) -> Result<Order, PlanError> {
    value.choice(&[("interleaved", Order::Interleaved), ("sequential", Order::Sequential)])
}

/// A durability class by its name.
fn class(value: &DocumentValue) -> Result<Class, PlanError> {
    value.choice(&Class::ALL.map(|class| (class.name(), class)))
}
