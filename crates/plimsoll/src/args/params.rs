//! Workload parameters as options, made from the workloads' own tables, so that help, completion and parsing cannot
//! differ from them. Which workload accepts which is checked once the workload is known.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use plimsoll_workloads::chosen::options;

/// (name, text) pairs in the order of the workloads' tables.
#[derive(Clone, Debug, Default)]
pub struct Params(pub Vec<(String, String)>);

impl FromArgMatches for Params {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Params, Error> {
        let given = |name: &'static str| matches.get_one::<String>(name).map(|text| (name.to_owned(), text.clone()));
        Ok(Params(options().into_iter().filter_map(|(name, _)| given(name)).collect()))
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
        command.args(options().into_iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Params::augment_args(command)
    }
}
