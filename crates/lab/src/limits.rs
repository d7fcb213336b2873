//! Limits that would stop a run half way, checked before it starts, and how long whole tables may be read around it.

use crate::error::LabError;
use plimsoll_host::limits::{SPARE_FILES, allow_open_files};
use plimsoll_plan::RunPlan;
use std::collections::BTreeMap;
use std::time::Duration;

/// A statement around a load point that reads a whole table.
pub const WHOLE_TABLE: Duration = Duration::from_secs(3600);
/// Connections that others need besides those of the load, including our control connection.
const SPARE_CONNECTIONS: u64 = 2;

/// Checks the server's limits against the largest load point. `statements` is how many each connection prepares;
/// `status` and `variables` are the server's.
pub fn of_server(
    plan: &RunPlan,
    statements: u64,
    variables: &BTreeMap<String, String>,
    status: &BTreeMap<String, u64>,
) -> Result<(), LabError> {
    let connections = plan.points.iter().map(|point| point.connections as u64).max().unwrap_or(0);
    let variable = |name: &str| variables.get(name).and_then(|value| value.parse::<u64>().ok());
    let used = |name: &str| status.get(name).copied().unwrap_or(0);
    // What has to fit: the limit's name, how much is needed, how much others use.
    let checks = [
        ("max_connections", connections + SPARE_CONNECTIONS, used("threads_connected").saturating_sub(1)),
        ("max_prepared_stmt_count", connections * statements, used("prepared_stmt_count")),
    ];
    for (limit, wanted, used) in checks {
        if let Some(allowed) = variable(limit).filter(|allowed| wanted + used > *allowed) {
            let advice = match limit {
                "max_connections" => "fewer --connections",
                _ => "fewer --connections or --tables, or --protocol text",
            };
            return Err(LabError::Environment(format!(
                "the server's {limit} is {allowed}, but {connections} connections need {wanted} besides the {used} in \
                 use: raise {limit} to at least {}, or run with {advice}",
                wanted + used
            )));
        }
    }
    Ok(())
}

/// Raises this process's limit of sockets to what the plan needs, as far as the machine allows.
pub fn open_files(plan: &RunPlan) -> Result<(), LabError> {
    let connections = plan.points.iter().map(|point| point.connections as u64).max().unwrap_or(0);
    let wanted = connections + SPARE_FILES;
    allow_open_files(wanted).map_err(|allowed| {
        LabError::Environment(format!(
            "{connections} connections need {wanted} open files, but this process may have only {allowed}: raise the limit \
             (`ulimit -Hn`), or run with fewer --connections"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
    use plimsoll_plan::plan::{ArrivalSpread, Measure};

    fn plan(connections: usize) -> RunPlan {
        RunPlan {
            workload: "oltp_read_write".into(),
            params: BTreeMap::new(),
            target: "private".into(),
            database: None,
            points: vec![LoadPoint { connections, rate: None }],
            arrivals: ArrivalSpread::Poisson,
            warmup_seconds: 0.0,
            measure: Measure::Seconds(1.0),
            rounds: 1,
            seed: 1,
            loops: 1,
            protocol: "prepared".into(),
            outage_limit_seconds: 30.0,
            ignore_errors: vec![],
            report_interval_seconds: 1,
            check: false,
            repeat_disturbed: false,
            fleet: None,
        }
    }

    fn check(connections: usize, statements: u64, variables: [(&str, &str); 2]) -> Result<(), String> {
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let status = [("threads_connected".to_owned(), 5), ("prepared_stmt_count".to_owned(), 100)].into();
        of_server(&plan(connections), statements, &variables, &status).map_err(|error| error.to_string())
    }

    #[test]
    fn the_limit_that_is_too_small_is_named_with_what_it_takes() {
        let enough = [("max_connections", "151"), ("max_prepared_stmt_count", "16382")];
        assert_eq!(check(64, 11, enough), Ok(()));
        let error = check(150, 1, enough).unwrap_err();
        assert!(error.contains("max_connections is 151") && error.contains("at least 156"), "{error}");
        let error = check(100, 200, enough).unwrap_err();
        assert!(error.contains("max_prepared_stmt_count is 16382") && error.contains("at least 20100"), "{error}");
    }
}
