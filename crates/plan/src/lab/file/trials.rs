//! `[trials]`: what happens in each trial.

use super::value::{DocumentValue, Kind};
use crate::error::PlanError;
use crate::lab::{Method, Order, Restore, TrialRules, WarmUp};
use crate::plan::Measure;
use plimsoll_model::Class;
use std::ops::RangeInclusive;

const KEYS: [&str; 12] = [
    "restore",
    "warmup",
    "measure",
    "pause",
    "rounds",
    "order",
    "recovery",
    "lenient",
    "noisy_host",
    "checksums",
    "allow",
    "seed",
];
const WARM_UP: WarmUp = WarmUp::Seconds(10.0);
const MEASURE: Measure = Measure::Seconds(30.0);
const ROUNDS: u32 = 3;
pub(super) const ROUNDS_ACCEPTED: RangeInclusive<u64> = 1..=1000;

/// Reads `[trials]` and its seed, if it has one. `restore` is the default.
pub(super) fn rules(table: &DocumentValue, restore: Restore) -> Result<(TrialRules, Option<u64>), PlanError> {
    let fields = table.fields(&KEYS)?;
    let rules = TrialRules {
        restore: fields.read("restore", restored)?.unwrap_or(restore),
        warmup: fields.read("warmup", warm_up)?.unwrap_or(WARM_UP),
        measure: fields.read("measure", measure)?.unwrap_or(MEASURE),
        pause_seconds: fields.read("pause", DocumentValue::seconds)?.unwrap_or(0.0),
        rounds: fields.read("rounds", |value| value.count(ROUNDS_ACCEPTED))?.map_or(ROUNDS, |rounds| rounds as u32),
        order: fields.read("order", order)?.unwrap_or(Order::Interleaved),
        recovery: fields.switch("recovery")?,
        lenient: fields.switch("lenient")?,
        noisy_host: fields.switch("noisy_host")?,
        checksums: fields.switch("checksums")?,
        allow: fields.read("allow", |value| value.list_of(class))?.unwrap_or_default(),
    };
    let seed = fields.read("seed", |value| value.count(0..=u64::MAX))?;
    Ok((rules, seed))
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
