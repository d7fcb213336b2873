//! Values and errors of Lua as the rest of this crate reads them.

use mlua::Value;

/// A number, which may be a whole one.
pub fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_i64().map(|whole| whole as f64))
}

/// What is wrong with a script: its file, its line and what it says.
pub fn told(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => told(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
