//! A run as it is recorded.

use crate::request::TestRequest;
use plimsoll_engine::{Protocol, RunSpec};
use plimsoll_model::LoadPoint;
use plimsoll_model::secrets::is_secret;
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::{ArrivalSpread, ENDLESS, Measure};

/// What a run without a server says in place of one.
pub const NO_SERVER: &str = "none";

/// What was typed, as `spec` carries it out on a server of this description. Secrets are left out, as far as names tell them.
pub fn plan(request: &TestRequest, spec: &RunSpec, target: String) -> RunPlan {
    let TestRequest { line, options, own, general } = request;
    let is_open = |(name, _): &(String, String)| !is_secret(name);
    RunPlan {
        workload: line.test.clone().unwrap_or_default(),
        params: own.typed().chain(options.typed()).filter(is_open).collect(),
        target,
        database: None,
        points: vec![LoadPoint {
            connections: general.threads,
            rate: Some(general.rate as f64).filter(|rate| *rate > 0.0),
        }],
        arrivals: ArrivalSpread::Poisson,
        warmup_seconds: general.warmup as f64,
        measure: match (general.time, general.events) {
            (0, 0) => Measure::Events(ENDLESS),
            (0, events) => Measure::Events(events),
            (seconds, _) => Measure::Seconds(seconds as f64),
        },
        rounds: 1,
        seed: spec.seed,
        loops: spec.loops.clamp(1, general.threads),
        protocol: if spec.protocol == Protocol::Text { "text" } else { "prepared" }.to_owned(),
        outage_limit_seconds: spec.outage_limit_ns as f64 / 1e9,
        ignore_errors: Vec::new(),
        report_interval_seconds: general.interval,
        check: false,
        repeat_disturbed: false,
        fleet: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::spec;
    use crate::dispatch::request;

    #[test]
    fn what_was_typed_is_recorded_without_passwords() {
        let words = [
            "--threads=4",
            "--mysql-password=secret",
            "--histogram",
            "--own=1",
            "--events=9",
            "cpu",
            "run",
            "--api_Token=x",
            "--compat=off",
        ];
        let request = request(&words.map(str::to_owned)).unwrap().unwrap();
        let plan = plan(&request, &spec(&request.general, request.general.events), NO_SERVER.to_owned());
        let params: Vec<(&str, &str)> =
            plan.params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(params, [("compat", "off"), ("events", "9"), ("histogram", "on"), ("own", "1"), ("threads", "4")]);
        assert_eq!((plan.workload.as_str(), plan.points[0].connections), ("cpu", 4));
        assert_eq!(plan.measure, Measure::Seconds(10.0));
    }
}
