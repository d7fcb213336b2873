//! Random numbers and texts. What a thread draws in an event is decided by the seed and the event's number.

use super::Functions;
use crate::lua_value::number;
use crate::thread::ScriptThread;
use mlua::Value;
use plimsoll_load::seed::Rng;
use plimsoll_workloads::distribution::{Distribution, DistributionName};
use std::rc::Rc;

/// Bytes of `varstring`: from `0` to `z`.
const VARIED: (u8, u8) = (b'0', b'z');

pub(super) fn add(functions: &Functions) -> mlua::Result<()> {
    for shape in DistributionName::ALL {
        functions.add(shape.name(), move |_, thread, (low, high)| {
            Ok(draw(thread, thread.script.shaped(shape), low, high))
        })?;
    }
    functions.add("default", |_, thread, (low, high)| Ok(draw(thread, thread.script.distribution, low, high)))?;
    functions.add("unique", |_, thread, ()| Ok(thread.unique()))?;
    functions.add("uniform_double", |_, thread, ()| Ok(thread.rng.borrow_mut().unit()))?;
    functions.add("halves", |_, thread, ()| {
        let drawn = thread.rng.borrow_mut().next_u64();
        Ok(((drawn >> 32) as f64, (drawn & 0xffff_ffff) as f64))
    })?;
    functions.add("string", |_, thread, format: mlua::LuaString| {
        let mut text = Vec::with_capacity(128);
        append(&mut thread.rng.borrow_mut(), &format.as_bytes(), &mut text);
        Ok(bstr(text))
    })?;
    functions.add("varstring", |_, thread, (least, most): (f64, f64)| {
        let mut rng = thread.rng.borrow_mut();
        let length = rng.between(whole(least), whole(most).max(whole(least)));
        let byte = |rng: &mut Rng| rng.between(u64::from(VARIED.0), u64::from(VARIED.1)) as u8;
        Ok(bstr((0..length).map(|_| byte(&mut rng)).collect()))
    })?;
    functions.add("math_random", |_, thread, (low, high): (Option<f64>, Option<f64>)| {
        let unit = thread.own_rng.borrow_mut().unit();
        match (low, high) {
            (None, _) => Ok(unit),
            (Some(high), None) => within(1.0, high, unit, 1),
            (Some(low), Some(high)) => within(low, high, unit, 2),
        }
    })?;
    functions.add("math_randomseed", |_, thread, seed: Value| {
        let seed = number(&seed).unwrap_or(0.0).to_bits();
        thread.own_rng.replace(Rng::new(seed, 0, 0));
        Ok(())
    })
}

/// As Lua's manual has it: math.random, 5.6.
fn within(low: f64, high: f64, unit: f64, argument: u32) -> mlua::Result<f64> {
    if low > high {
        return Err(mlua::Error::runtime(format!("bad argument #{argument} to 'random' (interval is empty)")));
    }
    Ok(low.floor() + (unit * (high.floor() - low.floor() + 1.0)).floor())
}

fn bstr(text: Vec<u8>) -> impl mlua::IntoLua {
    mlua::LuaString::wrap(text)
}

/// Ranges are those of 32-bit numbers, as in sysbench, and more where a script needs it.
fn whole(number: f64) -> u64 {
    number as u64
}

pub(super) fn draw(thread: &Rc<ScriptThread>, distribution: Distribution, low: f64, high: f64) -> f64 {
    distribution.draw(&mut thread.rng.borrow_mut(), whole(low), whole(high)) as f64
}

/// Appends a text made from a format: `#` is a digit, `@` a letter, all else stands for itself.
pub(super) fn append(rng: &mut Rng, format: &[u8], text: &mut Vec<u8>) {
    text.extend(format.iter().map(|byte| match byte {
        b'#' => b'0' + rng.between(0, 9) as u8,
        b'@' => b'a' + rng.between(0, 25) as u8,
        other => *other,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_shape_of_its_format() {
        let mut text = Vec::new();
        append(&mut Rng::new(1, 2, 3), b"##-@@ x", &mut text);
        assert!(text[..2].iter().all(u8::is_ascii_digit) && text[3..5].iter().all(u8::is_ascii_lowercase), "{text:?}");
        assert_eq!((text[2], &text[5..]), (b'-', &b" x"[..]));
    }
}
