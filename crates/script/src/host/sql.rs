//! Parameters, rows and bulk inserts: what belongs to a connection and asks nothing of the server.

use super::{Functions, random};
use crate::lua_value::number;
use crate::results::Results;
use crate::statement::{Parameter, ParameterType, ParameterValue};
use crate::thread::ScriptThread;
use mlua::{Lua, LuaString, MultiValue, Table, Value};
use std::rc::Rc;

/// Bytes of a text parameter that was declared without a length.
const TEXT_BYTES: usize = 1 << 20;

pub(super) fn add(functions: &Functions) -> mlua::Result<()> {
    functions
        .add("new_parameter", |_, thread, (kind, most): (i64, Option<f64>)| Ok(new_parameter(thread, kind, most)))?;
    functions
        .add("set_parameter", |_, thread, (number, value): (usize, Value)| set_parameter(thread, number, &value))?;
    functions.add("set_random_text", |_, thread, (number, format): (usize, LuaString)| {
        let mut parameters = thread.parameters.borrow_mut();
        let Some(parameter) = parameters.get_mut(number) else { return Ok(false) };
        parameter.set_text(|text| random::append(&mut thread.rng.borrow_mut(), &format.as_bytes(), text));
        Ok(true)
    })?;
    functions.add("bind", |_, thread, (connection, statement, parameters): (usize, usize, Vec<usize>)| {
        Ok(thread.bind(connection, statement, parameters))
    })?;
    functions.add("more_results", |_, thread, connection: usize| {
        Ok(thread.with_results(connection, |results| results.has_more()).unwrap_or(false))
    })?;
    functions.add("next_result", |_, thread, connection: usize| {
        let next = |results: &mut Results| results.advance().then(|| results.size()).flatten();
        Ok(thread.with_results(connection, next).flatten().map(|(rows, columns)| vec![rows, columns]))
    })?;
    functions.add("begin_bulk", |_, thread, (connection, head): (usize, LuaString)| {
        Ok(thread.with_bulk(connection, |bulk| bulk.begin(&head.as_bytes())).is_some())
    })?;
    functions.add("is_bulk_full", |_, thread, (connection, row): (usize, LuaString)| {
        Ok(thread.with_bulk(connection, |bulk| bulk.is_full(&row.as_bytes())).unwrap_or(false))
    })?;
    functions.add("add_to_bulk", |_, thread, (connection, row): (usize, LuaString)| {
        Ok(thread.with_bulk(connection, |bulk| bulk.add(&row.as_bytes())).is_some())
    })?;
    functions.add("fetch_row", |lua, thread, connection: usize| fetch_row(lua, thread, connection))?;
    functions.add("row_values", |lua, thread, connection: usize| row_values(lua, thread, connection))
}

/// The number of a new parameter; `None` for a type that no version of sysbench accepts.
fn new_parameter(thread: &Rc<ScriptThread>, kind: i64, most: Option<f64>) -> Option<usize> {
    let kind = ParameterType::of(kind)?;
    let most = most.map_or(TEXT_BYTES, |most| most as usize);
    let mut parameters = thread.parameters.borrow_mut();
    parameters.push(Parameter { kind, most, value: ParameterValue::Null });
    Some(parameters.len() - 1)
}

fn set_parameter(thread: &Rc<ScriptThread>, place: usize, value: &Value) -> mlua::Result<bool> {
    let mut parameters = thread.parameters.borrow_mut();
    let Some(parameter) = parameters.get_mut(place) else { return Ok(false) };
    if value.is_nil() {
        parameter.value = ParameterValue::Null;
        return Ok(true);
    }
    let parsed = || value.as_string().and_then(|text| text.to_string_lossy().trim().parse::<f64>().ok());
    let as_number = || {
        number(value).or_else(parsed).ok_or_else(|| {
            mlua::Error::runtime(format!("a parameter for numbers is set to a value of the type {}", value.type_name()))
        })
    };
    match parameter.kind {
        ParameterType::Int => parameter.value = ParameterValue::Int(as_number()? as i64),
        ParameterType::Double => parameter.value = ParameterValue::Double(as_number()?),
        ParameterType::Text => match value.as_string() {
            Some(text) => parameter.set_text(|out| out.extend_from_slice(&text.as_bytes())),
            None => {
                let text = value.to_string()?;
                parameter.set_text(|out| out.extend_from_slice(text.as_bytes()));
            }
        },
    }
    Ok(true)
}

/// The values of the next row, NULL as nil.
fn next_row(lua: &Lua, thread: &Rc<ScriptThread>, connection: usize) -> mlua::Result<Option<Vec<Value>>> {
    let row = thread.with_results(connection, |results| {
        let Some(row) = results.fetch() else { return Ok(None) };
        let value = |text: Result<Option<&[u8]>, plimsoll_wire::WireError>| match text {
            Ok(Some(text)) => lua.create_string(text).map(Value::String),
            Ok(None) => Ok(Value::Nil),
            Err(error) => Err(mlua::Error::runtime(error.to_string())),
        };
        row.texts().map(value).collect::<mlua::Result<Vec<Value>>>().map(Some)
    });
    row.unwrap_or(Ok(None))
}

/// A row as a list, with holes where a value is NULL; nil behind the last.
fn fetch_row(lua: &Lua, thread: &Rc<ScriptThread>, connection: usize) -> mlua::Result<Option<Table>> {
    let Some(values) = next_row(lua, thread, connection)? else { return Ok(None) };
    let row = lua.create_table_with_capacity(values.len(), 0)?;
    for (place, value) in values.into_iter().enumerate() {
        row.raw_set(place + 1, value)?;
    }
    Ok(Some(row))
}

/// The values of the first row, one by one; nothing if there is none.
fn row_values(lua: &Lua, thread: &Rc<ScriptThread>, connection: usize) -> mlua::Result<MultiValue> {
    Ok(next_row(lua, thread, connection)?.map_or_else(MultiValue::new, MultiValue::from_vec))
}
