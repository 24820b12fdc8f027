//! Embeds the BPF objects that `make -C bpf` has built. Others are left out, and loading reports
//! them as missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const NAMES: [&str; 11] = [
    "ss_search",
    "ss_search31",
    "ss_search40",
    "ss_hspp",
    "ss_hspatch",
    "ss_hspaper",
    "ss_suss",
    "ss_cubic_std",
    "ss_bic",
    "ss_westwood",
    "ss_probe",
];

fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).expect("set by cargo"));
    let built = folder("CARGO_MANIFEST_DIR").join("../../bpf/build");
    let out = folder("OUT_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = String::from("pub(crate) const OBJECTS: &[(&str, &[u8])] = &[\n");
    for name in NAMES {
        let object = format!("{name}.bpf.o");
        let source = built.join(&object);
        watch(&source);
        if fs::copy(&source, out.join(&object)).is_ok() {
            writeln!(
                table,
                "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{object}\"))),"
            )
            .expect("writing to a string");
        }
    }
    table.push_str("];\n");
    fs::write(out.join("objects.rs"), table).expect("OUT_DIR can be written");
}

/// Makes cargo run this again when `file` changes or appears. Cargo treats a path that does not
/// exist as changed, so for such a file the nearest folder that exists is watched.
fn watch(file: &Path) {
    let mut path = file;
    while !path.exists() {
        let Some(parent) = path.parent() else { return };
        path = parent;
    }
    println!("cargo::rerun-if-changed={}", path.display());
}
