//! Metrics of a network lane's two sides.

use plimsoll_model::diagnosis::StorageUse;
use plimsoll_report::subject::Trial;

/// A number of a trial's lane by the name that a plan gives it; none if nothing measures it. The shares of
/// the CPUs are of all CPUs of the machine; those of kinds of operations are of all operations of the client.
pub(super) fn of_trial(metric: &str) -> Option<fn(&Trial) -> Option<f64>> {
    fn busy(trial: &Trial, cpus: fn(&StorageUse) -> Option<f64>) -> Option<f64> {
        let used = trial.storage.as_ref()?;
        Some(100.0 * cpus(used)? / used.host_cpus? as f64)
    }
    fn kind(trial: &Trial, name: &str) -> Option<f64> {
        Some(100.0 * trial.storage.as_ref()?.share(name)?)
    }
    Some(match metric {
        "storage_server_busy_percent" => |trial| busy(trial, |used| used.server_cpus),
        "storage_client_busy_percent" => |trial| busy(trial, |used| used.client_cpus),
        "storage_link_busy_percent" => |trial| busy(trial, |used| used.link_cpus),
        "storage_disk_busy_percent" => |trial| Some(100.0 * trial.storage.as_ref()?.disk_busy?),
        "storage_requests_per_second" => |trial| trial.storage.as_ref()?.requests,
        "storage_round_trips_per_transaction" => |trial| trial.cost.storage_round_trips,
        "storage_server_cpu_us_per_transaction" => |trial| trial.cost.storage_cpu_us,
        "nfs_read_percent" => |trial| kind(trial, "READ"),
        "nfs_write_percent" => |trial| kind(trial, "WRITE"),
        "nfs_commit_percent" => |trial| kind(trial, "COMMIT"),
        "nfs_getattr_percent" => |trial| kind(trial, "GETATTR"),
        _ => return None,
    })
}
