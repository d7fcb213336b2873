//! One file per subcommand, all of one shape: what was typed in, an exit code out.

pub mod calibrate;
pub mod check;
pub mod clean;
pub mod completions;
pub mod drop;
pub mod load;
pub mod quickstart;
pub mod run;
pub mod server;
pub mod target;
pub mod workloads;

use plimsoll_lab::LabError;
use plimsoll_lab::dataset::Description;
use plimsoll_plan::PlanError;
use plimsoll_workloads::oltp::{Kind, Parameters};
use plimsoll_workloads::unknown_workload;

pub const DONE: u8 = 0;
pub const CHECK_FAILED: u8 = 1;
const USAGE: u8 = 2;
pub const ENVIRONMENT: u8 = 3;
pub const INTERRUPTED: u8 = 130;

/// What an error that reached the top means to the caller.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<LabError>() {
        return error.exit_code();
    }
    let usage = error.is::<PlanError>() || error.is::<plimsoll_workloads::Error>();
    if usage { USAGE } else { ENVIRONMENT }
}

/// The workload of this name.
pub fn workload(name: &str) -> Result<Kind, plimsoll_workloads::Error> {
    Kind::from_name(name).ok_or_else(|| unknown_workload(name))
}

/// The parameters as typed, on top of those that the data were loaded with. What shapes the data may be
/// narrowed (fewer tables, fewer rows), never widened.
pub fn parameters(
    kind: Kind,
    typed: &[(String, String)],
    loaded: Option<&Description>,
) -> Result<Parameters, LabError> {
    let Some(loaded) = loaded else { return Ok(Parameters::parse(kind, pairs(typed))?) };
    let inherited: Vec<(String, String)> = loaded
        .parameters
        .iter()
        .filter(|(name, _)| Parameters::default().printable(kind).contains_key(*name))
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let whole = Parameters::parse(kind, pairs(&inherited))?;
    let wanted = Parameters::parse(kind, pairs(&inherited).chain(pairs(typed)))?;
    for (name, wanted, there) in
        [("tables", wanted.tables, whole.tables), ("table-size", wanted.table_size, whole.table_size)]
    {
        if wanted > there {
            return Err(LabError::Refused(format!(
                "--{name} {wanted} was asked for, but the data were loaded with {name} {there}; run with at most that, \
                 or drop them and load anew"
            )));
        }
    }
    if wanted.layout != whole.layout {
        return Err(LabError::Refused(
            "the data have another --layout than was asked for; drop them and load anew, or use another database"
                .to_owned(),
        ));
    }
    Ok(wanted)
}

fn pairs(all: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    all.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}
