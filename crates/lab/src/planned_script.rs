//! A variant whose load is a script of somebody's own, on the data of a workload.

use crate::adapter::{AskedOfData, WorkloadAdapter};
use crate::apart::look_at;
use crate::error::{LabError, refused};
use crate::load_point::Outcome;
use crate::load_spec::drawn_from;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::Run;
use plimsoll_plan::lab::{PlannedScript, Variant};
use plimsoll_script::{Script, Scripted};
use std::sync::Arc;

/// How statements are sent that a script prepares, if the plan does not say it.
pub const PROTOCOL: &str = "prepared";

/// The script of a variant, read.
///
/// # Errors
/// It cannot be read.
pub fn of(variant: &Variant) -> Result<Option<Script>, LabError> {
    let Some(PlannedScript { path, options }) = &variant.workload.script else { return Ok(None) };
    let options = options.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let read = Script::read(path, options, drawn_from(variant.workload.params.iter())?);
    let told = |error| refused(variant.at("workload.script"), format!("the script {}: {error}", path.display()));
    read.map(Some).map_err(told)
}

/// Looks at the script of a variant before anything is started.
///
/// # Errors
/// What is wrong with it, or with an option.
pub fn check(variant: &Variant) -> Result<(), LabError> {
    let Some(script) = of(variant)? else { return Ok(()) };
    look_at(&script).map_err(|why| refused(variant.at("workload.script"), format!("the script {}: {why}", script.name)))
}

/// Does something with the adapter of a script.
pub fn with_adapter<T>(script: Script, task: impl FnOnce(&WorkloadAdapter<Scripted>) -> T) -> T {
    let params = script.options.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let scripted = Scripted::new(script);
    task(&WorkloadAdapter {
        ask: &|_: &mut OpenTarget| Ok(AskedOfData::Nothing),
        build: &|_: &AskedOfData| Ok(scripted.clone()),
        begin: |scripted, spec| Run::begin(spec, Arc::new(scripted)),
        before: &|_: &mut OpenTarget| Ok(()),
        never_began: &|_: &mut OpenTarget| (),
        after: &|_: &mut OpenTarget, _: &mut Outcome| Ok(()),
        params,
        family: "",
        loaded: None,
        run_seed: 0,
        apart: Some(&scripted),
    })
}
