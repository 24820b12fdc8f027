//! Without a build script, cargo ignores the build dependencies.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
