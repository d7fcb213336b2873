//! `[workload]`: what is asked of the server.

use super::value::DocumentValue;
use crate::error::PlanError;
use crate::lab::{PlannedScript, PlannedWorkload};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The kind of storage trials: no server, no connections.
pub(in crate::lab) const IO: &str = "io";

/// The kind of a script on the data of another workload.
const LUA: &str = "lua";

/// Reads a whole `[workload]`: what has no name of its own here is a parameter. The workloads know which kinds and
/// parameters there are.
pub(super) fn workload(table: &DocumentValue) -> Result<PlannedWorkload, PlanError> {
    let mut workload =
        PlannedWorkload { kind: String::new(), params: BTreeMap::new(), seed: 1, dataset: None, script: None };
    let (mut data, mut path, mut options) = (None, None, None);
    for (key, value) in table.entries()? {
        match key.as_str() {
            "kind" => workload.kind = value.text()?.trim().to_owned(),
            "seed" => workload.seed = value.count(0..=u64::MAX)?,
            "dataset" => workload.dataset = Some(value.text()?.to_owned()),
            "data" => data = Some(value),
            "script" => path = Some(value),
            "set" => options = Some(value),
            _ => {
                workload.params.insert(parameter(key, value)?, values(value)?);
            }
        }
    }
    if workload.kind.is_empty() {
        return Err(
            table.problem("`kind` is missing: the name of a workload, such as tpcc or oltp_read_write, or lua, or io")
        );
    }
    if workload.kind != LUA {
        let stray = [data, path, options].into_iter().flatten().next();
        return match stray {
            Some(value) => Err(value.problem("`data`, `script` and `set` belong to a workload of the kind lua")),
            None => Ok(workload),
        };
    }
    let missing = |what: &str| table.problem(format!("a workload of the kind lua needs {what}"));
    let path = path.ok_or_else(|| missing("`script`, the path of a file"))?;
    let data = data.ok_or_else(|| missing("`data`, the workload whose tables it runs on, such as oltp_read_write"))?;
    workload.kind = data.text()?.trim().to_owned();
    if [LUA, IO].contains(&workload.kind.as_str()) {
        return Err(data.refuse("a workload with tables, such as oltp_read_write or tpcc"));
    }
    let options = options.map(script_options).transpose()?.unwrap_or_default();
    workload.script = Some(PlannedScript { path: script_path(path)?, options });
    Ok(workload)
}

/// The path of a script, which lies beside its plan if nothing else is said.
fn script_path(value: &DocumentValue) -> Result<PathBuf, PlanError> {
    let beside = Path::new(&value.at.file).parent().map_or_else(PathBuf::new, Path::to_owned);
    let path = beside.join(value.text()?);
    std::path::absolute(&path).map_err(|error| value.problem(format!("{}: {error}", path.display())))
}

fn script_options(table: &DocumentValue) -> Result<BTreeMap<String, String>, PlanError> {
    let read = |(name, value): &(String, DocumentValue)| Ok((name.replace('-', "_"), values(value)?));
    table.entries()?.iter().map(read).collect()
}

/// The name of a parameter as a command line has it.
fn parameter(key: &str, value: &DocumentValue) -> Result<String, PlanError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match !key.is_empty() && key.chars().all(plain) {
        true => Ok(key.replace('_', "-")),
        false => Err(value.problem("in a plan, the name of a parameter has lower-case letters, digits and `_` only")),
    }
}

/// A value, or several separated by commas.
fn values(value: &DocumentValue) -> Result<String, PlanError> {
    let texts: Result<Vec<_>, _> = value.one_or_more()?.iter().map(|one| one.scalar(["false", "true"])).collect();
    Ok(texts?.join(","))
}

#[cfg(test)]
mod tests {
    use crate::lab::file::{PlanChoices, read};

    /// The script of a plan's one variant: its kind of data, file and options; or what is wrong.
    fn script(workload: &str) -> Result<(String, String, String), String> {
        let text = format!("name = \"a\"\n[workload]\n{workload}\n");
        let plan = read("/plans/p.toml", &text, PlanChoices::of_seed(1), &|_| Ok(String::new()));
        let workload = plan.map_err(|error| error.to_string())?.variants.remove(0).workload;
        let script = workload.script.clone().ok_or("no script")?;
        Ok((workload.kind.clone(), workload.name(), format!("{:?}", script.options)))
    }

    #[test]
    fn a_script_runs_on_the_data_of_a_workload() {
        let told =
            script("kind = \"lua\"\nscript = \"x.lua\"\ndata = \"tpcc\"\nset = { a-b = 1, c = true }\nwarehouses = 2");
        let options = "{\"a_b\": \"1\", \"c\": \"true\"}".to_owned();
        assert_eq!(told, Ok(("tpcc".to_owned(), "lua:/plans/x.lua".to_owned(), options)));
    }

    #[test]
    fn what_a_script_lacks_and_what_others_do_not_have_is_said() {
        let cases = [
            ("kind = \"lua\"", "needs `script`"),
            ("kind = \"lua\"\nscript = \"x.lua\"", "needs `data`"),
            ("kind = \"lua\"\nscript = \"x.lua\"\ndata = \"lua\"", "a workload with tables"),
            ("kind = \"tpcc\"\nscript = \"x.lua\"", "belong to a workload of the kind lua"),
            ("kind = \"tpcc\"\nset = { a = 1 }", "belong to a workload of the kind lua"),
        ];
        for (workload, expected) in cases {
            let told = script(workload).unwrap_err();
            assert!(told.contains(expected), "{workload}: {told}");
        }
    }
}
