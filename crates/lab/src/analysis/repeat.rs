//! The command line that does the same again.

use plimsoll_plan::plan::{Measure, Spread};
use plimsoll_plan::{LabPlan, RunPlan};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a recording of `plimsoll quickstart` is called.
const QUICKSTART: &str = "quickstart";
/// What `--outage-limit` is where it is not given.
const OUTAGE_LIMIT_SECONDS: f64 = 30.0;

/// Of a run; `name` is that of its recording.
pub fn run(name: &str, plan: &RunPlan) -> String {
    let mut words = vec!["plimsoll".to_owned()];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), quoted(&value)]);
    let connections = listed(plan.points.iter().map(|point| point.connections));
    let rates = listed(plan.points.iter().filter_map(|point| Some(point.rate?.to_string())));
    let is_quickstart = is_quickstart(name, plan);
    if is_quickstart {
        option("server", plan.target.strip_prefix("private:").unwrap_or("auto").to_owned());
    } else {
        option("target", plan.target.clone());
    }
    option("connections", connections);
    if !rates.is_empty() {
        option("rate", rates);
    }
    if plan.points.iter().any(|point| point.rate.is_some()) && plan.arrivals == Spread::Constant {
        option("arrivals", "constant".to_owned());
    }
    if plan.warmup_seconds > 0.0 && !is_quickstart {
        option("warmup", format!("{}s", plan.warmup_seconds));
    }
    match plan.measure {
        Measure::Seconds(seconds) => option("time", format!("{seconds}s")),
        Measure::Events(events) => option("events", events.to_string()),
        Measure::EventsPerConnection(events) => option("events-per-connection", events.to_string()),
    }
    if plan.loops != 1 {
        option("loops", plan.loops.to_string());
    }
    if is_quickstart {
        // The number of tables is its own.
        plan.params
            .iter()
            .filter(|(name, _)| *name != "tables")
            .for_each(|(name, value)| option(&kebab(name), value.clone()));
    } else {
        option("protocol", plan.protocol.clone());
        if plan.outage_limit_seconds != OUTAGE_LIMIT_SECONDS {
            option("outage-limit", format!("{}s", plan.outage_limit_seconds));
        }
        if !plan.ignore_errors.is_empty() {
            option("ignore-errors", listed(plan.ignore_errors.iter()));
        }
        option("seed", plan.seed.to_string());
        plan.params.iter().for_each(|(name, value)| option(&kebab(name), value.clone()));
    }
    let command =
        if is_quickstart { vec![QUICKSTART.to_owned()] } else { vec!["run".to_owned(), quoted(&plan.workload)] };
    words.splice(1..1, command);
    words.join(" ")
}

/// A recording of `plimsoll run` may have the same name, but not the same plan.
fn is_quickstart(name: &str, plan: &RunPlan) -> bool {
    let params: Vec<&str> = plan.params.keys().map(String::as_str).collect();
    name == QUICKSTART && params == ["table_size", "tables"] && plan.report_interval_seconds == 0 && is_private(plan)
}

fn is_private(plan: &RunPlan) -> bool {
    plan.target == "private" || plan.target.starts_with("private:")
}

/// Of a lab; its plan need not be where it was.
pub fn lab(plan: &LabPlan) -> String {
    let preset = plan.preset.as_ref().map(|preset| format!(" --preset {}", quoted(preset))).unwrap_or_default();
    let server = plan.server.as_ref().map(|server| format!(" --server {}", quoted(server))).unwrap_or_default();
    let command = format!("plimsoll lab {}{preset}{server} --seed {}", quoted(&plan.file), plan.seed);
    format!("# manifest.json of the recording holds the plan as it was resolved\n{command}")
}

/// Of a storage evaluation, from the plan of its manifest. That of a single test is not all there.
pub fn storage(plan: &Value) -> String {
    let directory = quoted(plan["directory"].as_str().unwrap_or_default());
    let mut words = vec![format!("plimsoll io {directory}")];
    let suite = plan["suite"].as_str().unwrap_or_default();
    if suite == "test" {
        words.push("--test …".to_owned());
    } else {
        words.push(format!("--suite {}", quoted(suite)));
    }
    let probes = listed(plan["probes"].as_array().into_iter().flatten().cloned());
    words.extend((!probes.is_empty()).then(|| format!("--probes {probes}")));
    words.extend(plan["data_bytes"].as_u64().map(|bytes| format!("--size {bytes}")));
    words.extend(plan["window_seconds"].as_f64().map(|seconds| format!("--time {seconds}s")));
    words.extend(plan["seed"].as_u64().map(|seed| format!("--seed {seed}")));
    words.join(" ")
}

/// `1,8,64`, each once, in their order.
fn listed<T: ToString>(values: impl Iterator<Item = T>) -> String {
    let mut seen = BTreeSet::new();
    let texts = values.map(|value| value.to_string()).filter(|text| seen.insert(text.clone()));
    texts.collect::<Vec<_>>().join(",")
}

fn kebab(name: &str) -> String {
    name.replace('_', "-")
}

/// As a shell takes it for one word (POSIX, Shell Command Language, 2.2.2).
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@+%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::points::LoadPoint;

    fn plan(target: &str) -> RunPlan {
        RunPlan {
            workload: "oltp_read_write".to_owned(),
            params: [("tables", "4"), ("table_size", "100")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            target: target.to_owned(),
            points: [1, 8].map(|connections| LoadPoint { connections, rate: None }).to_vec(),
            arrivals: Spread::Poisson,
            warmup_seconds: 2.0,
            measure: Measure::Seconds(10.0),
            seed: 7,
            loops: 1,
            protocol: "prepared".to_owned(),
            outage_limit_seconds: 30.0,
            ignore_errors: Vec::new(),
            report_interval_seconds: 1,
        }
    }

    #[test]
    fn a_run_is_repeated_with_what_was_asked() {
        let line = run("first", &plan("mysql://u@h/db?socket=/tmp/my sock"));
        assert_eq!(
            line,
            "plimsoll run oltp_read_write --target 'mysql://u@h/db?socket=/tmp/my sock' --connections 1,8 --warmup 2s \
             --time 10s --protocol prepared --seed 7 --table-size 100 --tables 4"
        );
        let odd = RunPlan { outage_limit_seconds: 5.0, ignore_errors: vec![1062, 1213], ..plan("private:mysql") };
        let line = run("quickstart", &odd);
        assert!(
            line.starts_with("plimsoll run ") && line.contains("--outage-limit 5s --ignore-errors 1062,1213"),
            "{line}"
        );
    }

    #[test]
    fn a_quickstart_is_a_quickstart() {
        let line = run("quickstart", &RunPlan { report_interval_seconds: 0, ..plan("private:mysql") });
        assert_eq!(line, "plimsoll quickstart --server mysql --connections 1,8 --time 10s --table-size 100");
    }

    #[test]
    fn nothing_gets_out_of_a_word() {
        assert_eq!(quoted("a'; rm -rf /"), r"'a'\''; rm -rf /'");
        assert_eq!(quoted(""), "''");
    }
}
