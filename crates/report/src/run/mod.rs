//! A run: its load points as a sweep, with what only the summary of a run has.

mod curves;
mod order_entry;
mod sections;

use crate::document::Document;
use crate::run_view::ShownRun;
use crate::section::{agents, caveats, environment, repeat, settings, storage_server};
use crate::sentence::{self, window};
use crate::subject::Recorded;
use crate::terminal::TextLook;
use plimsoll_model::number::counted;
use plimsoll_model::summary::Summary;
use serde_json::{Value, json};

/// What a report of a run shows.
pub fn document(recorded: &Recorded, summary: &Summary) -> Document {
    let run = ShownRun { summary, recorded };
    let remark = match run.rounds() {
        0 => None,
        1 => Some(ONE_ROUND),
        _ => Some(SEVERAL_ROUNDS),
    };
    let sections = [
        sections::figure(&run),
        sections::load_points(&run),
        sections::scaling(&run),
        order_entry::section(&run),
        sections::original(&run),
        sections::limit(&run),
        agents::section(recorded),
        storage_server::section(recorded),
        sections::environment(&run, environment::section(recorded)),
        sections::cost(&run),
        sections::timeline(&run),
        sections::latency(&run),
        settings::section(recorded),
        caveats::section(&summary.caveats, remark, &recorded.missing),
        repeat::section(&recorded.how_to_repeat, summary.recording.as_deref()),
    ];
    Document {
        title: recorded.title.clone(),
        answer: sentence::answer(&run),
        findings: sentence::findings(&run),
        facts: facts(&run),
        sections: sections.into_iter().flatten().collect(),
        generated: recorded.generated.clone(),
        data: data(&run),
    }
}

/// The table of load points, what the sweep shows as a whole, and the answer.
pub fn terminal(recorded: &Recorded, summary: &Summary, look: TextLook) -> String {
    crate::terminal::run(&ShownRun { summary, recorded }, look)
}

const ONE_ROUND: &str = "This was one round. Its intervals say how certain the window's mean is, not how far another run would \
                         differ: to learn that, compare several rounds with plimsoll compare.";

const SEVERAL_ROUNDS: &str = "Numbers of a load point are means over its rounds, and their intervals say how far another round \
                              would differ. Seconds, distributions of latency, costs and limits are of the round in the \
                              middle by throughput.";

fn facts(run: &ShownRun<'_>) -> Vec<String> {
    let summary = run.summary;
    let mut facts = vec![summary.workload.clone(), summary.target.title()];
    if let Some(point) = summary.points.first() {
        let load = match summary.points.len() {
            1 => "one load point".to_owned(),
            n => counted(n as f64, "load point"),
        };
        facts.push(format!("{load} of {}", window(point)));
    }
    facts
}

/// The summary, and for each load point what limited it and what a transaction cost.
fn data(run: &ShownRun<'_>) -> Value {
    let trials: Vec<Value> = run
        .recorded
        .trials
        .iter()
        .map(|trial| {
            json!({
                "connections": trial.load.connections,
                "rate_offered": trial.load.rate,
                "status": trial.status,
                "diagnosis": trial.diagnosis,
                "cost": trial.cost,
                "storage": trial.storage,
            })
        })
        .collect();
    json!({"summary": run.summary, "trials": trials})
}
