//! A plan file that is written here rather than by a person: one server, one workload, one number of connections, and what
//! is changed of it. [`super::read`] reads what [`PlanDraft::text`] writes.

use crate::lab::space::build::AskedSettings;
use crate::lab::tune::{TuneRules, TuneSampler};
use crate::lab::{CrashRules, PlannedWorkload};
use plimsoll_model::Class;
use plimsoll_model::number::tick;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What stands in the place of a file in a plan of `plimsoll crash`.
pub const OF_CRASH: &str = "the plan of plimsoll crash";
/// The same of `plimsoll tune`.
pub const OF_TUNE: &str = "the plan of plimsoll tune";

/// Values as they are typed, by the names of variables.
pub type DraftSettings = BTreeMap<String, String>;

/// What a plan asks for before it is a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDraft {
    pub name: String,
    pub title: String,
    /// An option file that the server starts from.
    pub config_file: Option<String>,
    /// On top of it.
    pub config: DraftSettings,
    pub lane: Option<String>,
    pub workload: PlannedWorkload,
    pub connections: usize,
    /// As typed: `auto`, `10s`.
    pub warmup: String,
    /// How long each trial is measured, seconds.
    pub measure_seconds: f64,
    pub noisy_host: bool,
    /// Classes of safety that a rung may cost.
    pub allow: Vec<Class>,
    pub asks: DraftAsks,
}

/// What is to be found out.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftAsks {
    /// How the server does as it is: one trial.
    Look,
    /// What each change brings, one on top of the other, in at most so many rounds each.
    Ladder { rungs: Vec<DraftRung>, most_rounds: u32 },
    /// What faults do.
    Crash(CrashRules),
    /// What all of them bring together, in at most so many rounds.
    Together { changed: DraftSettings, most_rounds: u32 },
    /// Which other settings are better.
    Tune(TuneRules),
}

/// One change, and why it is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftRung {
    pub name: String,
    pub settings: DraftSettings,
    pub why: String,
}

impl PlanDraft {
    /// The plan file, for a command line that says the server's build and the seed.
    pub fn text(&self) -> String {
        self.written(None, None)
    }

    /// The plan file on its own.
    pub fn text_alone(&self, build: Option<&str>, seed: u64) -> String {
        self.written(build, Some(seed))
    }

    fn written(&self, build: Option<&str>, seed: Option<u64>) -> String {
        let mut text = format!("name = {}\ntitle = {}\n", quoted(&self.name), quoted(&self.title));
        self.server(&mut text, build);
        self.workload(&mut text);
        self.trials(&mut text, seed);
        match &self.asks {
            DraftAsks::Look => {}
            DraftAsks::Crash(rules) => crash(&mut text, rules),
            DraftAsks::Tune(rules) => tune(&mut text, rules),
            DraftAsks::Ladder { rungs, .. } => rungs.iter().for_each(|rung| {
                section(&mut text, "[[rung]]");
                rung.why.lines().for_each(|line| lines(&mut text, &format!("# {line}")));
                key(&mut text, "name", &quoted(&rung.name));
                lines(&mut text, &format!("config = {}", inline(&rung.settings)));
            }),
            DraftAsks::Together { changed, .. } => {
                for (name, settings) in [("before", &DraftSettings::new()), ("after", changed)] {
                    section(&mut text, "[[variant]]");
                    key(&mut text, "name", &quoted(name));
                    lines(&mut text, &format!("config = {}", inline(settings)));
                }
            }
        }
        text
    }

    fn server(&self, text: &mut String, build: Option<&str>) {
        let has_any = build.is_some() || self.config_file.is_some() || self.lane.is_some();
        if !has_any && self.config.is_empty() {
            return;
        }
        section(text, "[server]");
        build.iter().for_each(|build| key(text, "build", &quoted(build)));
        self.config_file.iter().for_each(|file| key(text, "config_file", &quoted(file)));
        self.lane.iter().for_each(|lane| key(text, "lane", &quoted(lane)));
        if !self.config.is_empty() {
            lines(text, &format!("config = {}", inline(&self.config)));
        }
    }

    fn workload(&self, text: &mut String) {
        let PlannedWorkload { kind, params, seed, dataset, script } = &self.workload;
        section(text, "[workload]");
        match script {
            None => key(text, "kind", &quoted(kind)),
            Some(script) => {
                key(text, "kind", &quoted("lua"));
                key(text, "script", &quoted(&script.path.to_string_lossy()));
                key(text, "data", &quoted(kind));
                lines(text, &format!("set = {}", inline(&script.options)));
            }
        }
        dataset.iter().for_each(|dataset| key(text, "dataset", &quoted(dataset)));
        key(text, "seed", &seed.to_string());
        params.iter().for_each(|(name, value)| key(text, &name.replace('-', "_"), &quoted(value)));
        section(text, "[load]");
        key(text, "connections", &self.connections.to_string());
    }

    fn trials(&self, text: &mut String, seed: Option<u64>) {
        section(text, "[trials]");
        key(text, "warmup", &quoted(&self.warmup));
        // What of the option file is not in effect is for advice to say; but what is lost, is lost by what is.
        if !matches!(self.asks, DraftAsks::Crash(_)) {
            key(text, "lenient", "true");
        }
        key(text, "measure", &quoted(&format!("{}s", self.measure_seconds)));
        match &self.asks {
            DraftAsks::Look => key(text, "rounds", "1"),
            DraftAsks::Crash(_) => key(text, "rounds", "3"),
            DraftAsks::Tune(rules) if rules.recovery_seconds.is_some() => key(text, "recovery", "true"),
            DraftAsks::Tune(_) => {}
            DraftAsks::Ladder { most_rounds, .. } | DraftAsks::Together { most_rounds, .. } => {
                key(text, "rounds", &quoted("auto"));
                key(text, "max_rounds", &most_rounds.to_string());
            }
        }
        seed.iter().for_each(|seed| key(text, "seed", &seed.to_string()));
        if self.noisy_host {
            key(text, "noisy_host", "true");
        }
        let classes: Vec<String> = self.allow.iter().map(|class| quoted(class.name())).collect();
        if !classes.is_empty() {
            key(text, "allow", &format!("[{}]", classes.join(", ")));
        }
    }
}

fn crash(text: &mut String, rules: &CrashRules) {
    section(text, "[crash]");
    let faults: Vec<String> = rules.faults.iter().map(|fault| quoted(fault.name())).collect();
    key(text, "faults", &format!("[{}]", faults.join(", ")));
    key(text, "trials", &rules.trials.to_string());
    key(text, "load", &quoted(&format!("{}s", rules.load_seconds)));
    if rules.keep {
        key(text, "keep", "true");
    }
}

fn tune(text: &mut String, rules: &TuneRules) {
    section(text, "[tune]");
    key(text, "time", &quoted(&format!("{}s", rules.seconds)));
    key(text, "objective", &quoted(rules.objective.name()));
    rules.keep.iter().for_each(|keep| key(text, "keep", &quoted(&keep.text)));
    rules.recovery_seconds.iter().for_each(|seconds| key(text, "recovery", &quoted(&format!("{seconds}s"))));
    key(text, "decide", &quoted(&format!("{}%", tick(100.0 * rules.decide))));
    match &rules.settings {
        AskedSettings::Named(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            key(text, "settings", &format!("[{}]", names.join(", ")));
        }
        AskedSettings::Top(most) => key(text, "top", &most.to_string()),
    }
    if rules.sampler == TuneSampler::Random {
        key(text, "sampler", &quoted("random"));
    }
    if rules.in_memory {
        key(text, "in_memory", "true");
    }
    for arm in &rules.arms {
        section(text, "[[tune.arm]]");
        key(text, "name", &quoted(&arm.name));
        lines(text, &format!("config = {}", inline(&arm.settings.iter().cloned().collect())));
    }
}

fn section(text: &mut String, name: &str) {
    lines(text, &format!("\n{name}"));
}

fn key(text: &mut String, name: &str, value: &str) {
    lines(text, &format!("{name} = {value}"));
}

fn lines(text: &mut String, line: &str) {
    // Nothing can fail to be written to memory.
    let _ = writeln!(text, "{line}");
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// `{ innodb_io_capacity = "400" }`.
fn inline(settings: &DraftSettings) -> String {
    let pair = |(name, value): (&String, &String)| format!("{name} = {}", quoted(value));
    format!("{{ {} }}", settings.iter().map(pair).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::file::{PlanChoices, read};
    use crate::lab::{LabPlan, PlannedScript, Storage};
    use plimsoll_model::FaultKind;

    fn draft(asks: DraftAsks) -> PlanDraft {
        PlanDraft {
            name: "advise-tpcc".to_owned(),
            title: "What \"advice\" is worth".to_owned(),
            config_file: Some("/etc/my.cnf".to_owned()),
            config: [("innodb_io_capacity".to_owned(), "400".to_owned())].into(),
            lane: Some("slow".to_owned()),
            workload: PlannedWorkload {
                kind: "tpcc".to_owned(),
                params: [("warehouses".to_owned(), "4".to_owned())].into(),
                seed: 7,
                dataset: None,
                script: None,
            },
            connections: 8,
            warmup: "2s".to_owned(),
            measure_seconds: 5.5,
            noisy_host: true,
            allow: vec![Class::D1],
            asks,
        }
    }

    fn planned(draft: &PlanDraft) -> LabPlan {
        let option_file = |_: &str| Ok("[mysqld]\ninnodb_buffer_pool_size = 10M\n".to_owned());
        read("advice.toml", &draft.text(), PlanChoices::of_seed(1), &option_file).expect("a plan")
    }

    #[test]
    fn what_is_written_is_read() {
        let plan = planned(&draft(DraftAsks::Look));
        let base = &plan.variants[0];
        assert_eq!((plan.name.as_str(), plan.title.as_deref()), ("advise-tpcc", Some("What \"advice\" is worth")));
        assert_eq!((base.config.len(), &base.storage), (2, &Storage::Lane("slow".to_owned())));
        assert_eq!((base.workload.params["warehouses"].as_str(), base.workload.seed), ("4", 7));
        assert_eq!((base.load.points[0].connections, plan.trials.rounds, plan.trials.noisy_host), (8, 1, true));
        assert_eq!(plan.trials.allow, [Class::D1]);
        let alone = draft(DraftAsks::Look).text_alone(Some("mysql"), 11);
        let read = read("advice.toml", &alone, PlanChoices::default(), &|_| Ok(String::new())).expect("a plan");
        assert_eq!((read.seed, read.variants[0].build.as_str()), (11, "mysql"));
    }

    #[test]
    fn a_ladder_has_its_rungs_and_both_together_two_variants() {
        let changed: DraftSettings = [("innodb_buffer_pool_size".to_owned(), "1G".to_owned())].into();
        let rung =
            DraftRung { name: "pool".to_owned(), settings: changed.clone(), why: "71 %\nof the time".to_owned() };
        let plan = planned(&draft(DraftAsks::Ladder { rungs: vec![rung], most_rounds: 9 }));
        assert_eq!((plan.rungs[0].name.as_str(), plan.rungs[0].change.config[0].value.as_str()), ("pool", "1G"));
        assert_eq!((plan.trials.rounds, plan.trials.stopping.is_some()), (9, true));
        let plan = planned(&draft(DraftAsks::Together { changed, most_rounds: 9 }));
        let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["before", "after"]);
    }

    #[test]
    fn faults_come_after_the_load() {
        let rules =
            CrashRules { faults: FaultKind::ALL.to_vec(), trials: 5, load_seconds: 2.5, keep: true, again: None };
        let mut draft = draft(DraftAsks::Crash(rules.clone()));
        draft.workload.kind = "ledger".to_owned();
        draft.workload.params.clear();
        assert_eq!(planned(&draft).crash, Some(rules));
        draft.workload.kind = "oltp_read_write".to_owned();
        let text = draft.text();
        let refused = read("x.toml", &text, PlanChoices::of_seed(1), &|_| Ok(String::new())).expect_err("not counted");
        assert!(refused.to_string().contains("ledger and tpcc"), "{refused}");
    }

    #[test]
    fn a_script_runs_on_the_data_of_a_workload() {
        let mut draft = draft(DraftAsks::Look);
        let options = [("x".to_owned(), "a, \"b\"".to_owned())].into();
        draft.workload.script = Some(PlannedScript { path: "/scripts/x.lua".into(), options });
        assert_eq!(planned(&draft).variants[0].workload, draft.workload);
    }
}
