//! Workload parameters as options: made from the workloads' own tables, so help, completion and parsing
//! cannot differ from them. Which workload takes which is checked when the workload is known.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use plimsoll_workloads::oltp::Kind;
use plimsoll_workloads::oltp::parameters::parameters;

/// (name, text) pairs in the order of the workloads' tables.
#[derive(Clone, Debug, Default)]
pub struct Params(pub Vec<(String, String)>);

/// Name, help and default of every parameter of any workload.
fn known() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    for spec in Kind::ALL.into_iter().flat_map(parameters) {
        if all.iter().all(|(name, _)| *name != spec.name) {
            let default = if spec.default.is_empty() { "none" } else { spec.default };
            all.push((spec.name, format!("{} [default: {default}]", spec.help)));
        }
    }
    all
}

impl FromArgMatches for Params {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Params, Error> {
        let given = |name: &'static str| matches.get_one::<String>(name).map(|text| (name.to_owned(), text.clone()));
        Ok(Params(known().into_iter().filter_map(|(name, _)| given(name)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Params::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Params {
    fn augment_args(command: Command) -> Command {
        let option = |(name, help): (&'static str, String)| {
            Arg::new(name)
                .long(name)
                // As sysbench spells them.
                .alias(name.replace('-', "_"))
                .help(help)
                .value_name("VALUE")
                .hide_short_help(true)
                .allow_hyphen_values(true)
                .help_heading("Workload parameters (see `plimsoll workloads NAME`)")
        };
        command.args(known().into_iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Params::augment_args(command)
    }
}
