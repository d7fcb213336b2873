//! What a reader of a number asks first: when it was measured, on which machine, with how much data, and how safe its commits
//! were.

use plimsoll_model::durability::{Class, Risks};
use plimsoll_model::number::binary_size;
use plimsoll_record::read::RecordingView;
use plimsoll_report::subject::{Subject, Trial};
use std::collections::BTreeMap;

/// A few words for each; what is not known is left out.
pub fn circumstances(view: &RecordingView, subject: &Subject, trials: &[Trial]) -> Vec<String> {
    let host = &view.manifest.host;
    let cpus = format!("{} × {}", host.cpus, host.cpu_model.as_deref().unwrap_or("CPU"));
    let mut all = vec![view.manifest.started.strftime("%Y-%m-%d %H:%M UTC").to_string()];
    all.push(format!("{cpus}, {}", binary_size(host.memory_bytes as f64)));
    all.extend(data(subject, trials));
    all.extend(safety(trials));
    all
}

/// `98.5 MiB of data, buffer pool 128 MiB`.
fn data(subject: &Subject, trials: &[Trial]) -> Option<String> {
    let of_run = match subject {
        Subject::Run(summary) => summary.target.data_bytes,
        _ => None,
    };
    let restored = trials.iter().filter_map(|trial| trial.restored.as_ref()).map(|restored| restored.bytes);
    let data = of_run.or(restored.max()).filter(|bytes| *bytes > 0);
    let pools = trials.iter().flat_map(|trial| &trial.settings).filter(|row| row.name == "innodb_buffer_pool_size");
    let mut pools: Vec<u64> = pools.filter_map(|row| row.effective.as_ref()?.parse().ok()).collect();
    pools.sort_unstable();
    pools.dedup();
    let size = |bytes: u64| binary_size(bytes as f64);
    let pool = match pools[..] {
        [] => None,
        [only] => Some(format!("buffer pool {}", size(only))),
        [first, .., last] => Some(format!("buffer pools of {} to {}", size(first), size(last))),
    };
    let parts: Vec<String> = data.map(|bytes| format!("{} of data", size(bytes))).into_iter().chain(pool).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Whether every commit was safe; none where no settings were recorded.
fn safety(trials: &[Trial]) -> Option<String> {
    let mut by_variant: BTreeMap<&str, Risks> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| !trial.durability.is_empty()) {
        let risks = trial.durability.values().flat_map(|setting| &setting.risks).copied();
        by_variant.entry(&trial.base).or_default().extend(risks.filter(|class| class.costs_durability()));
    }
    let mut all = by_variant.values();
    let first = all.next()?;
    Some(match (first, all.all(|other| other == first)) {
        (_, false) => "variants are not equally durable".to_owned(),
        (none, true) if none.is_empty() => "fully durable".to_owned(),
        (risks, true) => {
            let names: Vec<&str> = risks.iter().copied().map(Class::words).collect();
            format!("not fully durable: {}", names.join(", "))
        }
    })
}
