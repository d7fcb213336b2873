//! What a script calls that takes no time: functions of ours, by their names in the table that the prelude is given.

mod c_functions;
mod compiled;
mod random;
mod sql;
mod sysbench;

use crate::asked::{AnswerCode, MARK, QuestionKind};
use crate::thread::{Current, ScriptThread};
use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table, Value};
use std::rc::Rc;

/// The table, for the machine whose running thread is `current`.
///
/// # Errors
/// Those of memory alone.
pub fn table(lua: &Lua, current: &Current) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.set("MARK", Value::LightUserData(MARK))?;
    for (name, kind) in QuestionKind::ALL {
        host.set(name, kind as i64)?;
    }
    for (name, code) in AnswerCode::ALL {
        host.set(name, code as i64)?;
    }
    let functions = Functions { lua, host: &host, current };
    compiled::add(lua, &host, current)?;
    c_functions::add(lua, &host)?;
    random::add(&functions)?;
    sql::add(&functions)?;
    sysbench::add(&functions)?;
    Ok(host)
}

/// What cannot be called at the top level while a script is only looked at.
pub const ONLY_WHILE_RUN: &str = "can only be used while the script is run";

/// Where functions are added.
struct Functions<'a> {
    lua: &'a Lua,
    host: &'a Table,
    current: &'a Current,
}

impl Functions<'_> {
    /// Adds a function of the thread that is running.
    fn add<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        name: &str,
        function: impl Fn(&Lua, &Rc<ScriptThread>, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()> {
        let (current, shown) = (self.current.clone(), name.to_owned());
        let called = self.lua.create_function(move |lua, arguments: A| match &*current.borrow() {
            Some(thread) => function(lua, thread, arguments),
            None => Err(mlua::Error::runtime(format!("{shown} {ONLY_WHILE_RUN}"))),
        })?;
        self.host.set(name, called)
    }
}
