//! What compiled code calls through the foreign function interface: a call of Lua's own to us would end its trace.

use crate::thread::{Current, ScriptThread};
use mlua::{LightUserData, Lua, Table, Value};
use plimsoll_workloads::distribution::DistributionName;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

/// A machine as such a function knows it: where its running thread is.
type Running = RefCell<Option<Rc<ScriptThread>>>;

/// Adds them as addresses, with the machine that they are told of.
///
/// # Errors
/// Those of memory alone.
pub(super) fn add(lua: &Lua, host: &Table, current: &Current) -> mlua::Result<()> {
    host.set("SHAPES", lua.create_table_from(shapes())?)?;
    let machine = Rc::as_ptr(current).cast::<c_void>();
    let addresses =
        [("MACHINE", machine), ("DRAW", draw as *const c_void), ("COUNT_NOTHING", count_nothing as *const c_void)];
    addresses
        .into_iter()
        .try_for_each(|(name, address)| host.set(name, Value::LightUserData(LightUserData(address.cast_mut()))))
}

/// The shapes by their numbers in [`draw`]; 0 is the one that `--rand-type` names.
fn shapes() -> impl Iterator<Item = (&'static str, usize)> {
    let named = DistributionName::ALL.into_iter().enumerate().map(|(place, shape)| (shape.name(), place + 1));
    std::iter::once(("default", 0)).chain(named)
}

/// A number from `low` to `high`; not a number while no thread runs.
///
/// # Safety
/// `machine` is that of a machine that lives.
#[allow(unsafe_code)]
unsafe extern "C" fn draw(machine: *const c_void, shape: u32, low: f64, high: f64) -> f64 {
    // SAFETY: only the machine's own code calls this, with the address that it was given.
    let current = unsafe { &*machine.cast::<Running>() };
    let Some(thread) = &*current.borrow() else { return f64::NAN };
    let shape = (shape as usize).checked_sub(1).and_then(|place| DistributionName::ALL.get(place));
    let distribution = shape.map_or(thread.script.distribution, |shape| thread.script.shaped(*shape));
    super::random::draw(thread, distribution, low, high)
}

/// Counts a statement of a dry run, which is not sent.
///
/// # Safety
/// As for [`draw`].
#[allow(unsafe_code)]
unsafe extern "C" fn count_nothing(machine: *const c_void) {
    // SAFETY: as in `draw`.
    let current = unsafe { &*machine.cast::<Running>() };
    if let Some(thread) = &*current.borrow() {
        thread.count_nothing();
    }
}
