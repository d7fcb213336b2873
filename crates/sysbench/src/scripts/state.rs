//! A state of a script beside the load: its commands, its start and its end.

use super::PreparedTest;
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSpec};
use mlua::{IntoLuaMulti, Lua, Table, Value};
use plimsoll_engine::Failure;
use plimsoll_script::aside::{Aside, AsidePlace};
use std::borrow::Cow;

pub struct MainState {
    aside: Aside,
}

/// What a script raised, as it is printed.
fn text_of(failure: Failure) -> String {
    match failure {
        Failure::Again => "(not a string)".to_owned(),
        other => other.to_string(),
    }
}

impl MainState {
    /// Runs the top level of a script.
    ///
    /// # Errors
    /// It is not Lua, or it raises an error.
    pub fn load(prepared: &PreparedTest, place: AsidePlace) -> Result<MainState, Halt> {
        let fatal = |failure| Halt::Fatal(text_of(failure));
        let made = Aside::new(&prepared.script, prepared.endpoint.clone(), prepared.protocol, place);
        let mut aside = made.map_err(fatal)?;
        aside.call("load", ()).map_err(fatal)?;
        Ok(MainState { aside })
    }

    pub fn lua(&self) -> &Lua {
        self.aside.lua()
    }

    /// Calls one of our own functions in it.
    ///
    /// # Errors
    /// What it raised.
    pub fn call(&mut self, function: &str, argument: impl IntoLuaMulti) -> Result<Value, Halt> {
        let value = self.aside.call(function, argument).map_err(|failure| Halt::Fatal(text_of(failure)))?;
        Ok(value.unwrap_or(Value::Nil))
    }

    /// The same where it is a question.
    ///
    /// # Errors
    /// As [`MainState::call`].
    pub fn is(&mut self, question: &str, argument: impl IntoLuaMulti) -> Result<bool, Halt> {
        Ok(self.call(question, argument)?.as_boolean() == Some(true))
    }

    /// Calls a function of the script.
    ///
    /// # Errors
    /// What it raised, with its name.
    pub fn call_function(&mut self, function: &str) -> Result<(), Halt> {
        let called = self.aside.call(function, ());
        let failed = |failure| Halt::Fatal(format!("`{function}' function failed: {}", text_of(failure)));
        called.map(drop).map_err(failed)
    }

    /// Calls a command of the script's own; the exit code.
    ///
    /// # Errors
    /// As [`MainState::call_function`].
    pub fn command(&mut self, command: &str) -> Result<u8, Halt> {
        let failed =
            |failure| Halt::Fatal(format!("`sysbench.cmdline.call_command' function failed: {}", text_of(failure)));
        let succeeded = self.aside.call("command", command).map_err(failed)?;
        Ok(if succeeded == Some(Value::Boolean(true)) { 0 } else { Halt::FAILED })
    }

    /// The options that the script declares, by name; `None` if it does not say.
    ///
    /// # Errors
    /// A declaration that is none.
    pub fn declared_options(&mut self) -> Result<Option<Vec<OptionSpec>>, Halt> {
        let Value::Table(declared) = self.call("declared_options", ())? else { return Ok(None) };
        let read = |table: Table| {
            Ok(OptionSpec {
                name: Cow::Owned(table.get("name")?),
                kind: OptionKind::of(table.get("kind")?),
                default: table.get::<Option<String>>("default")?.map(Cow::Owned),
                description: Cow::Owned(table.get("description")?),
            })
        };
        let specs: mlua::Result<Vec<OptionSpec>> =
            declared.sequence_values().map(|table| table.and_then(read)).collect();
        let mut specs = specs.map_err(|error| Halt::Fatal(format!("an option is declared wrongly: {error}")))?;
        specs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(specs))
    }
}
