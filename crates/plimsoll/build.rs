//! What the linker is told of a static program: LuaJIT's frames go through `plimsoll_script::frames`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "musl") {
        println!("cargo:rustc-link-arg-bins=-Wl,--wrap=__register_frame,--wrap=__deregister_frame");
    }
}
