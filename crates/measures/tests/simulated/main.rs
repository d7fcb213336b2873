//! Labs that are run against servers whose truth is known, with noise that is seeded.

mod answers;
mod explained;
mod grid;
mod headline;
mod ladder;
mod lines;
mod reach;
mod stopping;
mod summary;
mod switchback;
mod tune;

use plimsoll_load::seed::Rng;
use plimsoll_model::LoadPoint;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::summary::LatencyMs;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, TrialPlan, Variant};
use plimsoll_schedule::{EndedTrial, Prospects, of};
use plimsoll_testkit::simulated::*;
use std::collections::BTreeMap;
