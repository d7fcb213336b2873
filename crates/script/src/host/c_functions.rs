//! The functions of C's library that public scripts name: by these addresses they are there in a static program too, in which
//! nothing can be looked up by its name.

use mlua::{LightUserData, Lua, Table, Value};
use std::ffi::c_void;

macro_rules! functions {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), libc::$name as *const c_void)),*] };
}

/// Adds the function that finds one.
///
/// # Errors
/// Those of memory alone.
pub(super) fn add(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let functions = functions![
        abs,
        atof,
        atoi,
        atol,
        calloc,
        clock_gettime,
        close,
        exit,
        fflush,
        free,
        getenv,
        getpid,
        getppid,
        gettimeofday,
        getuid,
        isalpha,
        isdigit,
        kill,
        labs,
        malloc,
        memcmp,
        memcpy,
        memset,
        nanosleep,
        open,
        perror,
        poll,
        printf,
        puts,
        qsort,
        rand,
        read,
        realloc,
        sched_yield,
        setenv,
        srand,
        strcmp,
        strdup,
        strerror,
        strlen,
        strncmp,
        strtod,
        strtol,
        strtoul,
        system,
        time,
        toupper,
        tolower,
        unsetenv,
        write,
    ];
    let find = lua.create_function(move |_, name: mlua::LuaString| {
        let found = functions.iter().find(|(known, _)| known.as_bytes() == &*name.as_bytes());
        Ok(found.map(|(_, address)| Value::LightUserData(LightUserData(address.cast_mut()))))
    })?;
    host.set("function_of_c", find)
}
