//! The frames of compiled code in a static program. LuaJIT registers them with the record that their section begins with,
//! as libgcc takes them; LLVM's unwinder, which static programs have, takes the record behind it (LSB, *Exception Frames*).
//! The linker leads LuaJIT's calls here (`--wrap`), which the binary's build script asks for.

use std::ffi::c_void;

#[allow(unsafe_code)]
unsafe extern "C" {
    fn __real___register_frame(record: *const c_void);
    fn __real___deregister_frame(record: *const c_void);
}

/// The record behind the first, which begins with its length.
///
/// # Safety
/// `section` is one of LuaJIT's: two records at least.
#[allow(unsafe_code)]
unsafe fn second(section: *const c_void) -> *const c_void {
    // SAFETY: as above.
    unsafe { section.byte_add(4 + section.cast::<u32>().read_unaligned() as usize) }
}

#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___register_frame(section: *const c_void) {
    // SAFETY: called by LuaJIT alone, with a section of its own.
    unsafe { __real___register_frame(second(section)) }
}

#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___deregister_frame(section: *const c_void) {
    // SAFETY: as above.
    unsafe { __real___deregister_frame(second(section)) }
}

/// Nothing but the linker knows of them.
#[used]
static KEPT: [unsafe extern "C" fn(*const c_void); 2] = [__wrap___register_frame, __wrap___deregister_frame];
