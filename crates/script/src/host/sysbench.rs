//! What scripts that are run as sysbench runs them read and count.

use super::Functions;
use crate::dialect::OptionValue;
use crate::thread::ScriptThread;
use mlua::{IntoLua, Lua, Table, Value};
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_load::recorder::Effect;
use std::sync::atomic::Ordering;

/// sysbench's numbers for what a script may count itself: SB_CNT_OTHER, _READ, _WRITE, _ERROR, _RECONNECT.
const COUNTED: [i64; 5] = [0, 1, 2, 4, 5];

pub(super) fn add(functions: &Functions) -> mlua::Result<()> {
    functions.add("has_driver", |_, thread, name: Option<String>| Ok(has_driver(thread, name.as_deref())))?;
    functions.add("options", |lua, thread, ()| options(lua, thread))?;
    functions.add("globals", |lua, thread, ()| {
        let globals = thread.dialect().and_then(|dialect| dialect.globals.get().cloned());
        lua.create_table_from(globals.unwrap_or_default())
    })?;
    functions.add("test_options", |_, thread, ()| {
        Ok(thread.dialect().and_then(|dialect| dialect.test_options.get().cloned()).unwrap_or_default())
    })?;
    functions.add("count", |_, thread, (kind, by): (i64, u64)| count(thread, kind, by))
}

/// Whether there is a driver of this name, or of the one that the command line names.
fn has_driver(thread: &ScriptThread, name: Option<&str>) -> bool {
    let Some(dialect) = thread.dialect() else { return name.is_none_or(|name| name == DRIVER) };
    let name = name.unwrap_or(&dialect.driver);
    if name != DRIVER {
        dialect.fatal(&format!("invalid database driver name: '{name}'"));
    }
    dialect.uses_sql.store(true, Ordering::Relaxed);
    name == DRIVER
}

/// `sysbench.opt` as far as sysbench's own options and those that the script has declared go.
fn options(lua: &Lua, thread: &ScriptThread) -> mlua::Result<Table> {
    let options = lua.create_table()?;
    let known = thread.dialect().and_then(|dialect| dialect.options.get());
    for (name, value) in known.into_iter().flatten() {
        let value = match value {
            OptionValue::Flag(on) => Value::Boolean(*on),
            OptionValue::Number(number) => Value::Number(*number),
            OptionValue::Text(text) => text.as_str().into_lua(lua)?,
            OptionValue::List(items) => items.clone().into_lua(lua)?,
        };
        options.raw_set(name.as_str(), value)?;
    }
    Ok(options)
}

fn count(thread: &ScriptThread, kind: i64, by: u64) -> mlua::Result<()> {
    if !COUNTED.contains(&kind) {
        let text = format!(
            "the counter {kind} is none that a script can change: they are {COUNTED:?}; events are counted by sb_event_stop"
        );
        return Err(mlua::Error::runtime(text));
    }
    thread.count(|recorder| match kind {
        0 => recorder.counted_as(Effect::Other, by),
        1 => recorder.counted_as(Effect::Read, by),
        2 => recorder.counted_as(Effect::Write, by),
        4 => (0..by).for_each(|_| recorder.error(Catalogue::operation_of(None), 0)),
        _ => (0..by).for_each(|_| recorder.reconnected()),
    });
    Ok(())
}

const DRIVER: &str = "mysql";
